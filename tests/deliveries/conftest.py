"""A worker on AWS in memory that runs one step after the other, and one with threads."""

import pytest

from duebell import Worker
from duebell_infra.testing import InlinePool
from duebell_shared.backend import Backend

ACCOUNT = "123456789012"


@pytest.fixture
def worker(backend: Backend) -> Worker:
    """Each attempt comes to its end before the next begins."""
    return Worker(backend=backend, pool=lambda _: InlinePool())


@pytest.fixture
def threaded(backend: Backend) -> Worker:
    """A worker with the threads that it has in Lambda."""
    return Worker(backend=backend)
