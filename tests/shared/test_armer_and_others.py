"""Several processes arm at once: one sets the rule at a time, and it ends where the earliest needs it."""

from datetime import datetime, timedelta

import pytest

from duebell_shared.bell.armer import HOLD, Armer
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.bell.bell import Rule
from tests.shared.conftest import LANES
from tests.shared.fake_events import FakeEvents
from tests.shared.shared_store import SharedStore
from tests.support import NOON, Clock, SetFor

DUE = NOON + timedelta(hours=1)
EARLIER = NOON + timedelta(minutes=30)


def lowered(armer: Armer) -> ArmingRecord:
    """The record of a queue with a task that the rule is not set for yet."""
    return armer.change(lambda record: record.lowered({0: DUE}))


def hold(armer: Armer, store: SharedStore, until: datetime) -> ArmingRecord:
    """Another process that may call PutRule until then."""
    return store.now_holds(armer.read().applying("other", until=until))


def test_one_who_is_at_it_is_waited_for(
    armer: Armer, store: SharedStore, eventbridge: FakeEvents, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given another process that is setting the rule, and confirms a little later
    record = lowered(armer)
    hold(armer, store, NOON + HOLD)
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        clock.sleep(seconds)
        waits.append(seconds)
        if len(waits) == 3:
            newest = armer.read()
            store.now_holds(newest.confirmed("other", DUE, DUE, now=clock.now, may_land_again=False))

    monkeypatch.setattr(armer, "_sleep", sleep)
    # When this one comes
    settled = armer.ensure(record)
    # Then it looked again until then, and set nothing itself
    assert settled.armed == DUE
    assert len(waits) == 3
    assert eventbridge.put == []


@pytest.mark.parametrize("behind", [1, 60])
def test_a_hold_lasts_as_long_as_it_was_meant_to_whatever_the_clocks_say(
    armer: Armer, store: SharedStore, clock: Clock, behind: int
) -> None:
    # Given a process that has just begun to set the rule, by a clock that is behind this one's
    lowered(armer)
    hold(armer, store, NOON + HOLD - timedelta(seconds=behind))
    # When this one comes, then it waits until that must be over
    assert armer.ensure().armed == DUE
    assert HOLD <= clock.now - NOON <= HOLD + timedelta(seconds=1)


def test_who_was_taken_over_does_not_confirm_and_it_is_healed(
    armer: Armer, rule: Rule, store: SharedStore, eventbridge: FakeEvents, clock: Clock
) -> None:
    # Given a process that stands still in its PutRule; meanwhile another lowers, takes over and confirms
    other = Armer(store, rule, lanes=LANES, clock=clock, sleep=clock.sleep)

    def stand_still() -> None:
        clock.advance(HOLD)
        assert other.ensure(other.lower({1: EARLIER})).armed == EARLIER

    eventbridge.troubles["PutRule"] = [stand_still]
    # When its own call lands after the other's, at what it knew
    record = armer.ensure(armer.lower({0: DUE}))
    # Then nobody believes the rule, and it is set once more
    expressions = [put["ScheduleExpression"] for put in eventbridge.put]
    assert expressions == [SetFor(DUE), SetFor(EARLIER), SetFor(EARLIER)]
    assert record.armed == EARLIER
    assert eventbridge.expression == SetFor(EARLIER)
