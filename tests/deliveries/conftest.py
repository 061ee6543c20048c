"""A worker on AWS in memory that runs one step after the other, and one with threads."""

from tests.worker.conftest import threaded, worker

__all__ = ["threaded", "worker"]
