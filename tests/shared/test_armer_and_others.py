"""Several processes arm at once: one sets the rule at a time, and it ends where the earliest needs it."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Barrier, Lock

import pytest

from duebell_shared.bell.armer import HOLD, PATIENCE, Armer
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.bell.bell import Rule
from duebell_shared.errors import NotArmed
from duebell_shared.instants import MOST_SKEW
from tests.shared.conftest import LANES
from tests.shared.fake_events import FakeEvents, refusal
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


def test_a_hold_that_is_over_by_any_clock_is_not_waited_for(
    armer: Armer, store: SharedStore, clock: Clock
) -> None:
    lowered(armer)
    hold(armer, store, NOON - MOST_SKEW)
    assert armer.ensure().armed == DUE
    assert clock.now == NOON


def test_one_after_the_other_dies_at_it_and_that_is_said(
    armer: Armer, store: SharedStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    lowered(armer)
    hold(armer, store, NOON + HOLD)

    def sleep(seconds: float) -> None:
        clock.sleep(seconds)
        hold(armer, store, clock.now + HOLD)

    monkeypatch.setattr(armer, "_sleep", sleep)
    with pytest.raises(
        NotArmed, match=r"the (rule|schedule) could not be confirmed: call ensure_armed\(\) to try again"
    ):
        armer.ensure()
    assert clock.now - NOON <= PATIENCE + timedelta(seconds=1)


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


def test_a_refusal_does_not_end_the_hold_of_another(
    armer: Armer, store: SharedStore, eventbridge: FakeEvents, clock: Clock
) -> None:
    def stand_still() -> None:
        clock.advance(HOLD)
        hold(armer, store, clock.now + HOLD)
        refusal("AccessDeniedException")()

    eventbridge.troubles["PutRule"] = [stand_still]
    with pytest.raises(NotArmed):
        armer.ensure(armer.lower({0: DUE}))
    assert store.record
    assert store.record.applier == "other"


def at_once(count: int, call: Callable[[int], ArmingRecord]) -> list[ArmingRecord]:
    """Make the call in as many threads, all at the same moment."""
    ready = Barrier(count)

    def wait_and_call(number: int) -> ArmingRecord:
        ready.wait(timeout=60)
        return call(number)

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(wait_and_call, range(count)))


def test_of_many_new_heads_at_once_the_earliest_gets_the_rule(
    store: SharedStore, eventbridge: FakeEvents, rule: Rule, clock: Clock
) -> None:
    # Given PutRule calls that are watched
    order = [5, 3, 9, 0, 11, 1, 8, 2, 10, 4, 7, 6]
    under_way = Lock()

    def alone() -> None:
        assert under_way.acquire(blocking=False), "two set the rule at once"
        under_way.release()

    eventbridge.troubles["PutRule"] = [alone] * 100
    armers = [
        Armer(store, rule, lanes=LANES, clock=clock, sleep=store.wait_for_a_change) for _ in range(len(order))
    ]

    # When as many processes each bring the earliest task, all at once
    def bring(number: int) -> ArmingRecord:
        armer = armers[number]
        return armer.ensure(armer.lower({number % LANES: DUE - timedelta(minutes=order[number])}))

    settled = at_once(len(order), bring)

    # Then each returned when the rule rang early enough for it, and in the end it is at the earliest
    for number, record in enumerate(settled):
        assert record.armed
        assert record.armed <= DUE - timedelta(minutes=order[number])
    earliest = DUE - timedelta(minutes=11)
    assert store.record
    assert store.record.is_settled(NOON)
    assert store.record.armed == earliest
    assert eventbridge.expression == SetFor(earliest)
    # And that took no more calls than there were heads
    assert 1 <= len(eventbridge.put) <= len(order)
