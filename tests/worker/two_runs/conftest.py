"""Fixtures for the tests of two runs that wait to the second."""

from datetime import datetime

import pytest

from duebell import Worker
from duebell_shared.backend import Backend
from duebell_shared.settings import Precision
from tests.support import Clock
from tests.worker.called import Called
from tests.worker.hooked_store import HookedStore
from tests.worker.memory import memory_backend
from tests.worker.stage import Stage


@pytest.fixture
def store() -> HookedStore:
    return HookedStore()


@pytest.fixture
def backend(clock: Clock, store: HookedStore, called: Called) -> Backend:
    return called.by(memory_backend(clock, store, parallel_runs=1, precision=Precision.SECOND))


@pytest.fixture
def worker(backend: Backend, stage: Stage) -> Worker:
    return Worker(backend=backend, pool=stage, concurrency=2)


@pytest.fixture
def starts(worker: Worker, clock: Clock) -> list[datetime]:
    """When the action `act` was started."""
    starts: list[datetime] = []
    worker.action("act")(lambda: starts.append(clock.now))
    return starts
