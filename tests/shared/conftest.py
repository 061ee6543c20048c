"""Fixtures for the tests of arming: a queue and a rule in memory."""

import pytest

from duebell_shared.bell.armer import Armer
from duebell_shared.bell.bell import Bell, RingSchedule, Rule
from tests.shared.fake_events import FakeEvents, FakeScheduler
from tests.shared.shared_store import SharedStore
from tests.support import Clock

LANES = 2


@pytest.fixture
def store() -> SharedStore:
    return SharedStore()


@pytest.fixture
def eventbridge(clock: Clock) -> FakeEvents:
    return FakeEvents(clock)


@pytest.fixture
def rule(eventbridge: FakeEvents, clock: Clock) -> Bell:
    kind = RingSchedule if isinstance(eventbridge, FakeScheduler) else Rule
    return kind("duebell", eventbridge.client, clock=clock, sleep=clock.sleep)


@pytest.fixture
def armer(store: SharedStore, rule: Bell, clock: Clock) -> Armer:
    return Armer(store, rule, lanes=LANES, clock=clock, sleep=clock.sleep)
