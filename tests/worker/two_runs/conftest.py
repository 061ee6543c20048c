"""Fixtures for the tests of two runs that wait to the second."""

from datetime import datetime

import pytest

from duebell import Editor, Worker
from duebell_infra.testing import Bell
from duebell_shared.backend import Backend
from duebell_shared.bell.bell import Rule
from duebell_shared.settings import Precision, Settings
from tests.support import Clock
from tests.worker.called import Called
from tests.worker.stage import Stage
from tests.worker.two_runs.scene import WatchedStore


@pytest.fixture
def store() -> WatchedStore:
    return WatchedStore()


@pytest.fixture
def called() -> Called:
    return Called()


@pytest.fixture
def backend(clock: Clock, store: WatchedStore, called: Called) -> Backend:
    rule = Rule("duebell", Bell().client, clock=clock, sleep=clock.sleep)
    settings = Settings(lanes=4, max_runs=1, precision=Precision.SECOND)
    return called.by(Backend(settings, store, rule, clock=clock, sleep=clock.sleep))


@pytest.fixture
def editor(backend: Backend) -> Editor:
    return Editor(backend=backend)


@pytest.fixture
def worker(backend: Backend, stage: Stage) -> Worker:
    return Worker(backend=backend, pool=stage, concurrency=2)


@pytest.fixture
def starts(worker: Worker, clock: Clock) -> list[datetime]:
    """When the action `act` was started."""
    starts: list[datetime] = []
    worker.action("act")(lambda: starts.append(clock.now))
    return starts
