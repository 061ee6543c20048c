"""The arming protocol over moto: who sets the rule, who waits, and who takes over."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import boto3
import pytest

from duebell import Editor
from duebell_shared.backend import Backend
from duebell_shared.bell.armer import HOLD, Armer
from duebell_shared.bell.arming import GRACE
from duebell_shared.instants import NEVER
from duebell_shared.settings import Settings
from tests.shared.on_moto import at_put_rule, rings_at, swap, unanswered
from tests.support import NOON, Calls, Clock

HOUR = timedelta(hours=1)
SOON = NOON + HOUR
LATER = NOON + 2 * HOUR


@pytest.fixture
def armer(backend: Backend) -> Armer:
    return backend.armer


def test_a_settled_rule_is_left_alone_at_the_cost_of_one_read(armer: Armer, calls: Calls) -> None:
    armer.ensure(armer.lower({0: SOON}))
    calls.clear()
    record = armer.ensure(armer.lower({1: LATER}))
    assert (record.armed, record.rings_at) == (SOON, SOON)
    assert calls == {"GetItem": 1}


def test_the_rule_follows_the_target_down_to_its_minute(armer: Armer, backend: Backend) -> None:
    for due in (LATER, SOON, NOON + timedelta(minutes=5, seconds=30)):
        armer.ensure(armer.lower({0: due}))
    assert rings_at(backend) == NOON + timedelta(minutes=6)


def test_an_empty_queue_parks_the_rule(armer: Armer, backend: Backend) -> None:
    assert armer.ensure().armed == NEVER
    assert rings_at(backend) is None


def test_a_missed_ring_is_set_again_by_whoever_comes_next(
    armer: Armer, backend: Backend, clock: Clock
) -> None:
    # Given a rule whose minute is over, and no run came
    armer.ensure(armer.lower({0: SOON}))
    clock.now = SOON + GRACE + timedelta(seconds=1)
    # When anyone ensures, whatever it is for
    record = armer.ensure(armer.lower({1: LATER}))
    # Then it rings at the first safe minute
    assert record.is_settled(clock())
    assert rings_at(backend) == record.rings_at == SOON + timedelta(minutes=4)


def test_of_many_new_heads_at_once_the_earliest_is_rung_for(
    session: boto3.Session, clock: Clock, calls: Calls
) -> None:
    # Given threads that wait until something is written, for the clock stands still for all of them
    written = threading.Condition()

    def tell(**_: Any) -> None:
        with written:
            written.notify_all()

    def wait(seconds: float) -> None:
        with written:
            written.wait(seconds)

    session.events.register("after-call.dynamodb.PutItem", tell)
    backend = Backend.connect(Settings(), session, clock=clock, sleep=wait)
    editor = Editor(backend=backend)
    # And that each have a task which is due before those of the others
    editor.ensure_armed()
    calls.clear()
    dues = [LATER - timedelta(minutes=number) for number in range(16)]
    barrier = threading.Barrier(len(dues))

    def add(due: datetime) -> None:
        barrier.wait()
        editor.add("act", due=due)

    # When all add at once
    with ThreadPoolExecutor(len(dues)) as threads:
        list(threads.map(add, dues))
    # Then the rule is at the earliest, and they did not each set it
    assert rings_at(backend) == backend.armer.read().armed == min(dues)
    assert calls["PutRule"] < len(dues) / 2


def test_who_finds_another_applying_waits_for_it(
    armer: Armer, backend: Backend, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given another process that is setting the rule, and confirms it by our third look
    armer.ensure(armer.lower({0: LATER}))
    swap(backend, lambda record: record.lowered({0: SOON}).applying("other", until=NOON + HOLD))
    calls.clear()
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            swap(
                backend,
                lambda record: record.confirmed("other", SOON, SOON, now=NOON, may_land_again=False),
            )

    monkeypatch.setattr(armer, "_sleep", sleep)
    # When we ensure
    record = armer.ensure()
    # Then we have waited for it, and set nothing ourselves
    assert record.armed == SOON
    assert (len(pauses), calls["PutRule"]) == (3, 0)


def test_who_waits_takes_over_when_the_hold_has_ended(armer: Armer, backend: Backend, clock: Clock) -> None:
    # Given an applier that died
    armer.lower({0: SOON})
    swap(backend, lambda record: record.applying("dead", until=clock() + HOLD))
    # When we ensure
    armer.ensure()
    # Then we waited for its hold to end, as its call might land until then, and did it ourselves
    assert NOON + HOLD <= clock() < NOON + HOLD + timedelta(seconds=2)
    assert rings_at(backend) == SOON


def test_who_is_taken_over_confirms_nothing(armer: Armer, backend: Backend, clock: Clock) -> None:
    # Given a process that is held up before its PutRule until another has taken over
    def take_over() -> None:
        clock.advance(HOLD)
        swap(backend, lambda record: record.applying("other", until=clock() + HOLD))

    at_put_rule(backend, take_over)
    # When its answer comes
    record = armer.ensure(armer.lower({0: SOON}))
    # Then that does not count, nor would the other's: its hold is waited for, and the rule is set anew
    assert clock() >= NOON + 2 * HOLD
    assert record.armed == rings_at(backend) == SOON


def test_an_answer_after_the_hold_does_not_count(
    armer: Armer, backend: Backend, clock: Clock, calls: Calls
) -> None:
    # Given a process that sleeps through its hold, and past the minute that it wanted
    at_put_rule(backend, lambda: clock.advance(timedelta(minutes=10)))
    # When its answer comes
    armer.ensure(armer.lower({0: NOON + timedelta(minutes=2)}))
    # Then the rule is set once more, to a minute that is to come
    assert calls["PutRule"] == 2
    assert rings_at(backend) == NOON + timedelta(minutes=11)


def test_while_an_unanswered_try_may_land_nobody_else_sets_the_rule(
    armer: Armer, backend: Backend, clock: Clock
) -> None:
    # Given a PutRule whose first try went unanswered
    at_put_rule(backend, unanswered(clock))
    # When its second was answered
    record = armer.ensure(armer.lower({0: SOON}))
    # Then the rule is where it must be, and the hold lasts
    assert record.is_settled(clock())
    assert record.is_being_applied(NOON + HOLD - timedelta(seconds=1))
    # And who has an earlier task waits for its end
    armer.ensure(armer.lower({0: SOON - timedelta(minutes=10)}))
    assert clock() >= NOON + HOLD
    assert rings_at(backend) == SOON - timedelta(minutes=10)
