"""The heads of many lanes, read side by side: one that cannot be read hides no other."""

import threading
from datetime import datetime, timedelta
from typing import Any

import pytest

from duebell_infra.testing import MemoryStore
from duebell_shared.bell.arming import ArmingRecord, Lane
from duebell_shared.errors import AwsUnavailable
from duebell_shared.instants import NEVER
from duebell_shared.parallel import Parallel
from duebell_shared.settings import Settings
from tests.editor.memory import Scheduler
from tests.support import NOON

LATER = NOON + timedelta(hours=1)


class Odd(MemoryStore):
    """Some lanes cannot be read."""

    odd: tuple[int, ...] = ()

    def head(self, lane: int, **given: Any) -> datetime:
        if lane in self.odd:
            raise AwsUnavailable(f"lane {lane} is throttled")
        return super().head(lane, **given)


@pytest.fixture
def scheduler() -> Scheduler:
    scheduler = Scheduler.start(Settings(lanes=8), store=Odd())
    for number in range(40):
        scheduler.editor.add("act", due=LATER, id=f"task-{number}")
    return scheduler


def odd(scheduler: Scheduler, *lanes: int) -> None:
    assert isinstance(scheduler.store, Odd)
    scheduler.store.odd = lanes


def test_verify_arms_for_all_lanes_whatever_one_of_them_answers(scheduler: Scheduler) -> None:
    # Given a record that knows of nothing
    odd(scheduler, 3)
    record = scheduler.store.record
    assert record
    scheduler.store.swap_record(record, ArmingRecord(lanes=(Lane(),) * 8))
    # When the queue is looked into
    verified = scheduler.backend.armer.verify()
    # Then the odd lane is looked at soon, and the rule set for it
    assert verified.lanes[3].due == NOON
    assert verified.rings_at == NOON + timedelta(minutes=1)


def test_a_record_made_anew_has_all_lanes_whatever_one_of_them_answers(scheduler: Scheduler) -> None:
    odd(scheduler, 3)
    scheduler.store.record = None
    made = scheduler.backend.armer.read()
    assert [lane.due for lane in made.lanes] == [NOON if lane == 3 else LATER for lane in range(8)]


def test_a_record_is_not_made_anew_while_nobody_knows_how_many_lanes_there_are(scheduler: Scheduler) -> None:
    odd(scheduler, 40)
    scheduler.store.record = None
    with pytest.raises(AwsUnavailable, match="lane 40"):
        scheduler.backend.armer.read()
    assert scheduler.store.record is None


def test_when_no_lane_can_be_read_the_error_is_raised(scheduler: Scheduler) -> None:
    odd(scheduler, *range(8))
    with pytest.raises(AwsUnavailable, match="lane 0"):
        scheduler.backend.armer.verify()


def test_a_record_that_is_made_anew_keeps_the_earlier_numbers_of_lanes(scheduler: Scheduler) -> None:
    record = scheduler.store.record
    assert record
    held = Lane(owner="for years", until=NEVER)
    scheduler.store.swap_record(record, ArmingRecord(lanes=(held,) * 8, earlier=(2, 4)))
    assert scheduler.backend.armer.verify().earlier == (2, 4)


# Side by side.


@pytest.mark.parametrize(("calls", "threads"), [(4, 0), (64, 16)])
def test_few_calls_need_no_threads_and_many_have_sixteen(calls: int, threads: int) -> None:
    # Given calls that wait for as many others as there can be
    barrier = threading.Barrier(max(threads, 1))
    seen = set[str]()

    def call(number: int) -> None:
        if number < threads:
            barrier.wait(timeout=30)
        seen.add(threading.current_thread().name)

    Parallel()(call, range(calls))
    main = threading.current_thread().name
    assert seen == {main} if threads == 0 else main not in seen
