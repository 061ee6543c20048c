"""Fixtures for the tests of arming: a queue and a rule in memory."""

import pytest

from duebell_shared.armer import Armer
from duebell_shared.rule import Rule
from tests.shared.fake_events import FakeEvents
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
def rule(eventbridge: FakeEvents, clock: Clock) -> Rule:
    return Rule("duebell", eventbridge.client, clock=clock, sleep=clock.sleep)


@pytest.fixture
def armer(store: SharedStore, rule: Rule, clock: Clock) -> Armer:
    return Armer(store, rule, lanes=LANES, clock=clock, sleep=clock.sleep)
