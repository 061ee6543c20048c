"""A worker on AWS in memory that runs one step after the other, one with threads, and an HTTPS endpoint."""

from tests.deliveries.endpoint import endpoint
from tests.worker.conftest import threaded, worker

__all__ = ["endpoint", "threaded", "worker"]
