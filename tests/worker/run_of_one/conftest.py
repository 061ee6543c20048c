"""Fixtures for the tests of a run of one task: a queue and a rule in memory, and a worker over them."""

import pytest

from duebell import Worker
from duebell_infra.testing import InlinePool
from duebell_shared.backend import Backend
from duebell_shared.bell.bell import Rule
from duebell_shared.settings import Settings
from tests.support import Clock
from tests.worker.run_of_one.scene import Costs, CountingStore, HookedBell


@pytest.fixture
def store() -> CountingStore:
    return CountingStore()


@pytest.fixture
def bell() -> HookedBell:
    return HookedBell()


@pytest.fixture
def backend(clock: Clock, store: CountingStore, bell: HookedBell) -> Backend:
    rule = Rule("duebell", bell.client, clock=clock, sleep=clock.sleep)
    return Backend(Settings(lanes=4), store, rule, clock=clock, sleep=clock.sleep)


@pytest.fixture
def costs(store: CountingStore, backend: Backend) -> Costs:
    return Costs(store, backend.rule)


@pytest.fixture
def done() -> list[str]:
    """The tasks whose action `act` was called, in order."""
    return []


@pytest.fixture
def worker(backend: Backend, done: list[str]) -> Worker:
    worker = Worker(backend=backend, pool=lambda _: InlinePool())
    worker.action("act")(lambda _, task: done.append(task.id))
    return worker
