"""Fixtures for the worker's tests: a worker that runs one action after the other, and one with threads."""

import pytest

from duebell_shared.backend import Backend
from duebell_worker import Worker
from tests.crash.dying import InlinePool


@pytest.fixture
def worker(backend: Backend) -> Worker:
    """A worker that runs each action at once and to its end, so that nothing is left to chance."""
    return Worker(backend=backend, pool=lambda _: InlinePool())


@pytest.fixture
def threaded(backend: Backend) -> Worker:
    """A worker with the threads that it has in Lambda."""
    return Worker(backend=backend)
