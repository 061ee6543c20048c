"""A long-running process: it starts tasks in time, ends in order, tells its health, and outlasts faults."""

from datetime import datetime, timedelta
from uuid import uuid4

import pytest

from duebell import Reservation, Status, Task
from duebell_shared.bell.arming import HEAD_START, ArmingRecord
from duebell_shared.bell.run_rules import LEASE
from duebell_shared.errors import AwsUnavailable, NotArmed, NotDeployed
from duebell_shared.instants import NEVER
from duebell_worker.process import Health, State
from tests.support import NOON
from tests.worker.hosted import HOUR, MINUTE, SECOND, Hosted
from tests.worker.other_runs import key_of


@pytest.mark.parametrize(("takes", "ends_after"), [(15, 15), (600, 20)])
def test_what_runs_is_given_its_time_and_nothing_else_is_started(
    takes: int, ends_after: int, hosted: Hosted
) -> None:
    # Given an action at work, and a task that comes due a little later
    at = NOON + MINUTE
    hosted.takes(takes * SECOND)
    long, following = hosted.add("long", at), hosted.add("act", at + 5 * SECOND)
    # When the process is told to end
    is_all = hosted.run_until(at + SECOND)
    # Then it takes no longer than the action, or than it is given
    assert hosted.clock.now - at <= (ends_after + 2) * SECOND
    # The action has come to its end; or it is retried later, with a message that says why
    ended = hosted.editor.get(long.id)
    assert is_all is (takes <= ends_after)
    assert ended.status is (Status.DONE if is_all else Status.SCHEDULED)
    assert is_all or "--drain-seconds" in (ended.failure.message if ended.failure else "")
    # The due task is left to the Lambda: its lane is free, and the rule rings
    assert not hosted.starts
    assert hosted.editor.get(following.id).status is Status.SCHEDULED
    assert not hosted.record.owners(hosted.clock.now)
    assert hosted.rings_at <= hosted.clock.now + 2 * MINUTE


def test_a_process_that_waits_for_a_due_date_gives_its_lanes_back_at_once(hosted: Hosted) -> None:
    hosted.add("act", NOON + MINUTE)
    assert hosted.run_until(NOON + 55 * SECOND)
    assert hosted.clock.now <= NOON + 57 * SECOND
    assert not hosted.record.owners(hosted.clock.now)
    [drains] = hosted.log.lines("process_drains")
    assert drains["ends_by"] == "2026-11-21T12:01:15.000Z"


def test_it_is_well_as_long_as_it_looks(hosted: Hosted) -> None:
    assert not hosted.process.health().is_well
    hosted.add("act", NOON + MINUTE)
    seen: list[Health] = []
    for seconds in (1, 55):
        hosted.at(NOON + seconds * SECOND, lambda: seen.append(hosted.process.health()))
    hosted.run_until(NOON + 10 * MINUTE)
    assert [health.state for health in seen] == [State.WAITING, State.RUNNING]
    assert all(health.is_well for health in seen)
    assert hosted.process.health().state is State.DRAINING
    hosted.clock.advance(LEASE + 2 * SECOND)
    assert not hosted.process.health().is_well


OUT = AwsUnavailable("no answer")


def be_out(hosted: Hosted, begins: datetime, ends: datetime) -> None:
    """Do not answer reads of the arming record for this time."""
    look = hosted.store.on_read

    def read() -> None:
        look()
        if begins <= hosted.clock.now < ends:
            raise OUT

    hosted.store.on_read = read


def test_it_is_not_well_when_it_could_not_look_for_the_time_of_a_lease(hosted: Hosted) -> None:
    be_out(hosted, NOON + SECOND, NEVER)
    seen: list[tuple[timedelta, Health]] = []
    for seconds in range(300):
        hosted.at(
            NOON + seconds * SECOND,
            lambda: seen.append((hosted.clock.now - NOON, hosted.process.health())),
        )
    hosted.run_until(NOON + 5 * MINUTE)
    assert {health.is_well for _, health in seen} == {True, False}
    assert all(health.is_well is (after < LEASE + SECOND) for after, health in seen[1:])
    assert "no answer" in (seen[-1][1].error or "")


def test_a_queue_that_is_not_there_is_told_at_once(hosted: Hosted) -> None:
    def missing() -> None:
        raise NotDeployed("the table", "duebell")

    hosted.store.on_read = missing
    with pytest.raises(NotDeployed):
        hosted.process.run()


def test_an_outage_is_waited_for_and_what_is_due_runs_after_it(hosted: Hosted) -> None:
    hosted.add("act", NOON + 5 * MINUTE)
    be_out(hosted, NOON + MINUTE, NOON + 10 * MINUTE)
    hosted.run_until(NOON + 20 * MINUTE)
    [start] = hosted.starts
    assert NOON + 10 * MINUTE <= start <= NOON + 11 * MINUTE
    pauses = [line["trying_again_in"] for line in hosted.log.lines("look_failed")]
    assert [0.5, 1, 2] <= pauses[:3] <= [1, 2, 4]
    assert 16 <= max(pauses) <= 32


def test_a_run_that_failed_goes_on_as_the_same_and_gives_its_lanes_back_at_the_end(hosted: Hosted) -> None:
    # Given a run that holds lanes when the record cannot be written any more
    hosted.add("act", NOON + MINUTE)
    is_out = [False]

    def refuse(_: ArmingRecord) -> None:
        if is_out[-1]:
            raise OUT

    hosted.store.on_write = refuse
    hosted.at(NOON + MINUTE - SECOND, lambda: is_out.append(True))
    hosted.at(NOON + 2 * MINUTE, lambda: is_out.append(False))
    # When the process is told to end while it waits to try again, and the record can be written
    hosted.run_until(NOON + 2 * MINUTE)
    # Then the lanes are free
    assert len({line["run"] for line in hosted.log.lines("run_failed")}) == 1
    assert not hosted.record.owners(hosted.clock.now)
    assert hosted.starts == [NOON + MINUTE]


def test_lanes_that_cannot_be_given_back_in_the_end_are_an_error(hosted: Hosted) -> None:
    hosted.add("act", NOON + MINUTE)

    def refuse(_: ArmingRecord) -> None:
        if hosted.clock.now >= NOON + MINUTE:
            raise OUT

    hosted.store.on_write = refuse
    with pytest.raises((AwsUnavailable, NotArmed)):
        hosted.run_until(NOON + MINUTE + 10 * SECOND)


def finish_what_runs(hosted: Hosted) -> None:
    """Have another run, which has the lanes, do all that is at work."""
    for task in hosted.editor.list(status=Status.RUNNING).tasks:
        hosted.editor.cancel(task.id)


@pytest.mark.parametrize(("takes", "is_all"), [(5 * MINUTE + 10 * SECOND, True), (HOUR, False)])
def test_an_end_gives_actions_of_a_lost_lease_time(takes: timedelta, is_all: bool, hosted: Hosted) -> None:
    # Given an action at work when its run loses the lease
    hosted.takes(takes)
    hosted.add("long", NOON)
    hosted.lose_the_lease(0, 1, 2, 3)
    hosted.at(NOON + 10 * SECOND, lambda: finish_what_runs(hosted))
    # When the process is told to end
    assert hosted.run_until(NOON + 5 * MINUTE) is is_all
    # Then it waits for the action, at most as long as it is given, and tells whether it was cut off
    assert hosted.clock.now - NOON <= 5 * MINUTE + 22 * SECOND
    [lost] = hosted.log.lines("lease_lost")
    assert lost["still_running"] == 1
    [ended] = hosted.log.lines("process_ended")
    assert ended["unfinished"] == (0 if is_all else 1)


def test_actions_of_a_lost_lease_keep_their_places_until_they_end(hosted: Hosted) -> None:
    # Given a process with two places, one of them taken by an action whose run lost its lease
    at_once: list[int] = []
    at_work: list[None] = []

    @hosted.worker.action("some")
    def some() -> None:
        at_work.append(None)
        at_once.append(len(at_work))
        hosted.stage.sleep(30)
        at_work.pop()

    hosted.takes(HOUR)
    hosted.add("long", NOON)
    hosted.lose_the_lease(0, 1, 2, 3)
    hosted.at(NOON + 10 * SECOND, lambda: finish_what_runs(hosted))
    # When several are due while it runs, and after it
    for lane, at in enumerate((30 * MINUTE, 30 * MINUTE, 2 * HOUR, 2 * HOUR)):
        hosted.add(some.name, NOON + at, lane=lane)
    hosted.run_until(NOON + 3 * HOUR)
    # Then one at a time goes on beside it, and two after it
    assert at_once == [1, 1, 1, 2]


def test_a_process_whose_places_are_all_kept_claims_no_lanes(hosted: Hosted) -> None:
    # Given actions that never return and have all places, and a lease that was lost
    hosted.takes(HOUR * 20)
    for lane in (0, 1):
        hosted.add("long", NOON, lane=lane)
    hosted.lose_the_lease(0, 1, 2, 3)
    hosted.at(NOON + 10 * SECOND, lambda: finish_what_runs(hosted))
    hosted.add("act", NOON + HOUR, lane=2)
    # When something is due
    free: list[bool] = []
    hosted.at(NOON + HOUR + MINUTE, lambda: free.append(not hosted.record.owners(hosted.clock.now)))
    hosted.run_until(NOON + 2 * HOUR)
    # Then its lane is free for others, and the rule rings for it
    assert free == [True]
    assert not hosted.starts
    assert len(hosted.log.lines("lease_lost")) == 1


def test_what_is_added_meanwhile_starts_at_its_second_or_with_the_next_look(hosted: Hosted) -> None:
    at = NOON + HOUR
    hosted.at(at, lambda: hosted.add("act", at))
    hosted.at(at + HOUR, lambda: hosted.add("act", at + HOUR + 3 * SECOND))
    hosted.run_until(NOON + 3 * HOUR)
    assert hosted.starts[1] == at + HOUR + 3 * SECOND
    assert at <= hosted.starts[0] <= at + SECOND


def test_nothing_is_held_and_little_is_read_while_nothing_is_due(hosted: Hosted) -> None:
    hosted.add("act", NOON + 5 * HOUR)
    reads: list[datetime] = []
    look = hosted.store.on_read

    def read() -> None:
        reads.append(hosted.clock.now)
        look()

    hosted.store.on_read = read
    writes: list[ArmingRecord] = []
    hosted.store.on_write = writes.append
    hosted.run_until(NOON + HOUR)
    assert not writes
    assert len(reads) <= 3600 + 5


def test_it_claims_the_lanes_before_the_rule_rings_ahead_of_a_due_date(hosted: Hosted) -> None:
    hosted.backend.armer.change(lambda record: record.ringing_ahead(HEAD_START))
    hosted.add("act", NOON + 30 * MINUTE)
    claimed: list[datetime] = []

    def note(record: ArmingRecord) -> None:
        if any(lane.owner for lane in record.lanes):
            claimed.append(hosted.clock.now)

    hosted.store.on_write = note
    hosted.run_until(NOON + HOUR)
    assert NOON + 30 * MINUTE - HEAD_START - MINUTE < claimed[0] < NOON + 30 * MINUTE - HEAD_START


# Long actions: the process claims other lanes beside them, or leaves these to others.


def test_an_action_of_five_hours_is_started_once_and_hinders_nobody(hosted: Hosted) -> None:
    hosted.takes(5 * HOUR)
    long = hosted.add("long", NOON + MINUTE)
    dues = [NOON + MINUTE + SECOND, NOON + 2 * HOUR + 17 * SECOND, NOON + 4 * HOUR]
    for due in dues[:2]:
        hosted.add("act", due)
    hosted.at(NOON + 3 * HOUR, lambda: hosted.add("act", dues[2]))  # while it runs
    hosted.run_until(NOON + 6 * HOUR)
    assert hosted.starts == dues
    done = hosted.editor.get(long.id)
    assert (done.status, done.attempt) == (Status.DONE, 1)
    assert done.finished_at == NOON + MINUTE + 5 * HOUR


@pytest.mark.parametrize("is_answered", [True, False])
def test_a_lane_that_is_claimed_later_is_looked_into(is_answered: bool, hosted: Hosted) -> None:
    # Given a run that waits for a due date, and another one that gives lanes back, one due before that
    hosted.add("act", NOON + 60 * SECOND, lane=0)
    hosted.add("act", NOON + 55 * SECOND, lane=3)
    other = hosted.other(2, 3)

    def give_back() -> None:
        other.lease.clear()
        other.lease.release({2: NEVER, 3: NOON + 55 * SECOND}, unless_due_within=None)

    hosted.at(NOON + 52 * SECOND, give_back)
    claims: list[ArmingRecord] = []
    swap = hosted.store.swap_record

    def swapped(old: ArmingRecord | None, new: ArmingRecord) -> ArmingRecord | None:
        written = swap(old, new)
        before = {lane.owner for lane in old.lanes} if old else set()
        is_more = None in before and len(before) == 2 and {lane.owner for lane in new.lanes} < before
        if written and is_more and not claims:
            claims.append(new)
            if not is_answered:
                raise OUT
        return written

    hosted.store.swap_record = swapped  # type: ignore[method-assign]
    # When the run claims these, and perhaps the answer to that is lost
    hosted.run_until(NOON + HOUR)
    # Then what waits in them starts in time
    assert claims
    assert hosted.starts == [NOON + 55 * SECOND, NOON + 60 * SECOND]


def test_a_run_that_finds_work_every_minute_ends_from_time_to_time(hosted: Hosted) -> None:
    hosted.editor.add("act", schedule="rate(1 minute)")
    hosted.run_until(NOON + HOUR)
    # Each minute is served to the second
    assert {start.second for start in hosted.starts} == {hosted.starts[0].second}
    assert len(hosted.starts) >= 59
    # And the results are told more than once, with the metrics of a run
    assert len(hosted.log.lines("run")) >= 10


def fill_places(hosted: Hosted) -> None:
    """Have actions of an hour take both places, and add a task in a lane in which nothing runs."""
    hosted.takes(HOUR)
    for lane in (0, 1):
        hosted.add("long", NOON + SECOND, lane=lane)
    hosted.add("act", NOON + 2 * SECOND, lane=3)


def test_lanes_are_left_to_others_while_long_actions_have_all_places(hosted: Hosted) -> None:
    hosted.serve(parallel_runs=2)
    fill_places(hosted)
    free: list[tuple[datetime, datetime]] = []
    for seconds in (60, 1800):
        hosted.at(
            NOON + seconds * SECOND,
            lambda: free.append((hosted.record.free_due(hosted.clock.now), hosted.rings_at)),
        )
    hosted.run_until(NOON + 2 * HOUR)
    # Then the lane is free for the next process that looks, and the rule rings for it
    assert all(due <= NOON + MINUTE for due, _ in free)
    assert free[0][1] <= NOON + 3 * MINUTE
    assert not hosted.called.events
    # And as nobody claims it, the process does as soon as it has a place
    [start] = hosted.starts
    assert NOON + HOUR <= start <= NOON + HOUR + 10 * SECOND


def test_a_share_is_given_to_a_lambda_where_it_may_be_called(hosted: Hosted) -> None:
    hosted.serve(parallel_runs=2, calls=True)
    fill_places(hosted)
    hosted.run_until(NOON + 5 * MINUTE)
    assert {"duebell": {"lanes": [2, 3]}} in hosted.called.events


def test_alone_by_its_setting_a_process_keeps_its_lanes(hosted: Hosted) -> None:
    fill_places(hosted)
    hosted.run_until(NOON + 2 * HOUR)
    assert not hosted.log.lines("shared")
    assert len(hosted.starts) == 1


# Reserved tasks, and tasks that a run left running, beside a long action.


def begin_long(hosted: Hosted) -> None:
    """Have the process, which has two places, begin an action of five hours soon."""
    hosted.takes(5 * HOUR)
    hosted.add("long", NOON + MINUTE, lane=0)


def confirm(hosted: Hosted, reservation: Reservation) -> None:
    answer = hosted.store.transact([reservation.write], token=uuid4().hex)
    assert not answer.refusals


def leave_running(hosted: Hosted, *tasks: Task) -> None:
    """A run that holds lanes 2 and 3, and dies with these tasks under way."""
    hosted.other(2, 3)
    for task in tasks:
        key, now = key_of(task), hosted.clock.now
        assert hosted.store.claim(key, run="other", now=now, status=Status.SCHEDULED)


def test_a_task_that_is_confirmed_during_a_long_action_is_run(hosted: Hosted) -> None:
    # Given a long action, and a task that is reserved when it is due, and confirmed five seconds later
    begin_long(hosted)
    reserved_at = NOON + 10 * MINUTE

    def reserve() -> None:
        reservation = hosted.editor.reserve("act", due=reserved_at, id="a")
        hosted.at(reserved_at + 5 * SECOND, lambda: confirm(hosted, reservation))

    hosted.at(reserved_at, reserve)

    # When a process comes to it that has an action under way; then it runs it soon
    hosted.run_until(NOON + 6 * HOUR)
    [started_at] = hosted.starts
    assert reserved_at + 5 * SECOND <= started_at < reserved_at + 20 * SECOND


def test_a_task_that_was_left_running_is_run_during_a_long_action(hosted: Hosted) -> None:
    # Given a long action, and a run that dies with a task under way
    begin_long(hosted)
    leave_running(hosted, hosted.add("act", NOON + SECOND, lane=3))

    # When its lease is over; then the process runs it, beside the action that it has under way
    hosted.run_until(NOON + 6 * HOUR)
    [started_at] = hosted.starts
    assert NOON + 2 * MINUTE <= started_at < NOON + 3 * MINUTE


def test_long_actions_that_were_left_running_run_side_by_side(hosted: Hosted) -> None:
    # Given a run that dies with two tasks under way, of hours each
    hosted.takes(5 * HOUR)
    tasks = [hosted.add("long", NOON + SECOND, lane=lane) for lane in (2, 3)]
    leave_running(hosted, *tasks)

    # When their lease is over
    hosted.run_until(NOON + 6 * HOUR)

    # Then one is begun a minute after the other: the first may be what killed the run
    first, second = sorted(hosted.editor.get(task.id).started_at or NOON for task in tasks)
    assert NOON + 2 * MINUTE <= first < NOON + 3 * MINUTE
    assert first + MINUTE <= second < first + 2 * MINUTE
