"""A long-running process: it looks from time to time, runs what is due to the second, and drains."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from duebell_shared.arming import HEAD_START, ArmingRecord
from duebell_shared.errors import AwsUnavailable, NotArmed, NotDeployed
from duebell_shared.instants import NEVER
from duebell_worker import Status
from duebell_worker.lease import LEASE
from duebell_worker.process import Health, State
from tests.support import NOON, Clock
from tests.worker.hosted import HOUR, MINUTE, SECOND, Hosted
from tests.worker.log_lines import Log
from tests.worker.stage import Stage

OUT = AwsUnavailable("no answer")


@pytest.fixture
def hosted(clock: Clock, stage: Stage, log: Log) -> Hosted:
    return Hosted(clock, stage, log)


# To the second.


def test_each_task_starts_at_its_second(hosted: Hosted) -> None:
    dues = [NOON + SECOND * seconds for seconds in (3, 40, 41, 127, 3600, 3725)]
    for due in dues:
        hosted.add("act", due)
    assert hosted.run_until(NOON + 2 * HOUR)
    assert hosted.starts == dues


def test_what_is_added_meanwhile_starts_at_its_second_or_with_the_next_look(hosted: Hosted) -> None:
    at = NOON + HOUR
    hosted.at(at, lambda: hosted.add("act", at))
    hosted.at(at + HOUR, lambda: hosted.add("act", at + HOUR + 3 * SECOND))
    hosted.run_until(NOON + 3 * HOUR)
    assert hosted.starts[1] == at + HOUR + 3 * SECOND
    assert at <= hosted.starts[0] <= at + SECOND


def test_nothing_is_held_and_little_is_read_while_nothing_is_due(hosted: Hosted) -> None:
    hosted.serve(look_every=10 * SECOND)
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
    assert len(reads) <= 3600 / 10 + 5


def test_the_rule_stays_armed_for_what_comes_next(hosted: Hosted) -> None:
    hosted.add("act", NOON + 10 * MINUTE)
    hosted.add("act", NOON + 3 * HOUR)
    rings: list[datetime] = []
    for minutes in (5, 20):
        hosted.at(NOON + minutes * MINUTE, lambda: rings.append(hosted.rings_at))
    hosted.run_until(NOON + HOUR)
    # Before it ran, and after
    assert rings == [NOON + 10 * MINUTE, NOON + 3 * HOUR]
    assert hosted.rings_at == NOON + 3 * HOUR


def test_while_it_holds_lanes_the_rule_is_its_watchdog(hosted: Hosted) -> None:
    hosted.takes(HOUR)
    hosted.add("long", NOON + MINUTE)
    ahead: list[timedelta] = []
    for minutes in range(2, 60):
        hosted.at(NOON + minutes * MINUTE, lambda: ahead.append(hosted.rings_at - hosted.clock.now))
    hosted.run_until(NOON + 2 * HOUR)
    assert len(ahead) == 58
    assert all(timedelta(0) < each <= LEASE + MINUTE for each in ahead)


# What the Lambda is rung for.


@pytest.mark.parametrize("head_start", [timedelta(0), HEAD_START])
def test_the_head_start_stays_as_the_lambda_set_it(head_start: timedelta, hosted: Hosted) -> None:
    hosted.backend.armer.change(lambda record: record.ringing_ahead(head_start))
    hosted.add("act", NOON + 30 * MINUTE)
    hosted.run_until(NOON + HOUR)
    assert hosted.record.head_start == head_start
    assert hosted.starts == [NOON + 30 * MINUTE]


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


# Actions of any length.


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


def test_lanes_of_a_run_that_died_are_claimed_during_a_long_action(hosted: Hosted) -> None:
    # Given another run that holds half of the lanes, with something due in one, and dies
    hosted.takes(5 * HOUR)
    other = hosted.other(2, 3)
    hosted.add("long", NOON + SECOND, lane=0)
    hosted.add("act", NOON + HOUR, lane=3)
    hosted.run_until(NOON + 6 * HOUR)
    # Then the run that is at work starts it in time
    assert hosted.starts == [NOON + HOUR]
    [died] = hosted.log.lines("run_died")
    assert died["died"] == other.lease.owner


def test_lanes_that_another_run_gives_back_are_claimed_before_they_are_due(hosted: Hosted) -> None:
    hosted.takes(5 * HOUR)
    hosted.add("long", NOON + SECOND, lane=0)
    hosted.add("act", NOON + HOUR, lane=3)
    other = hosted.other(2, 3)

    def give_back() -> None:
        other.lease.clear()
        other.lease.release({2: NEVER, 3: NOON + HOUR}, unless_due_within=None)

    hosted.at(NOON + MINUTE, give_back)
    hosted.run_until(NOON + 6 * HOUR)
    assert hosted.starts == [NOON + HOUR]
    assert not hosted.log.lines("run_died")


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


def test_what_is_added_while_it_waits_for_a_place_is_not_taken_for_seen(hosted: Hosted) -> None:
    # Given actions that have all places for a while, and a task that waits for one of them
    hosted.takes(20 * SECOND)
    for lane in (0, 1):
        hosted.add("long", NOON + SECOND, lane=lane)
    hosted.add("act", NOON + 2 * SECOND, lane=2)
    # When another one is added, in a lane that was looked into
    hosted.at(NOON + 10 * SECOND, lambda: hosted.add("act", NOON + 13 * SECOND, lane=3))
    hosted.run_until(NOON + 10 * MINUTE)
    # Then it starts as soon as there is a place
    assert len(hosted.starts) == 2
    assert max(hosted.starts) <= NOON + 23 * SECOND


def test_a_run_that_finds_work_every_minute_ends_from_time_to_time(hosted: Hosted) -> None:
    hosted.editor.add("act", schedule="rate(1 minute)")
    hosted.run_until(NOON + HOUR)
    # Each minute is served to the second
    assert {start.second for start in hosted.starts} == {hosted.starts[0].second}
    assert len(hosted.starts) >= 59
    # And the results are told more than once, with the metrics of a run
    assert len(hosted.log.lines("run")) >= 10


# Several processes.


def test_lanes_are_left_to_others_while_long_actions_have_all_places(hosted: Hosted) -> None:
    # Given a process whose places are taken for an hour, and a task in a lane in which nothing runs
    hosted.serve(look_every=SECOND, max_runs=2)
    hosted.takes(HOUR)
    for lane in (0, 1):
        hosted.add("long", NOON + SECOND, lane=lane)
    hosted.add("act", NOON + 2 * SECOND, lane=3)
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
    hosted.serve(look_every=SECOND, max_runs=2, calls=True)
    hosted.takes(HOUR)
    for lane in (0, 1):
        hosted.add("long", NOON + SECOND, lane=lane)
    hosted.add("act", NOON + 2 * SECOND, lane=3)
    hosted.run_until(NOON + 5 * MINUTE)
    assert {"duebell": {"lanes": [2, 3]}} in hosted.called.events


def test_alone_by_its_setting_a_process_keeps_its_lanes(hosted: Hosted) -> None:
    hosted.takes(HOUR)
    for lane in (0, 1):
        hosted.add("long", NOON + SECOND, lane=lane)
    hosted.add("act", NOON + 2 * SECOND, lane=3)
    hosted.run_until(NOON + 2 * HOUR)
    assert not hosted.log.lines("shared")
    assert len(hosted.starts) == 1


# Draining.


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
    # What came due is left to the Lambda: its lane is free, and the rule rings
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


def test_a_process_that_looks_seldom_ends_soon_too(hosted: Hosted) -> None:
    hosted.serve(look_every=MINUTE)
    assert hosted.run_until(NOON + 10 * SECOND)
    assert hosted.clock.now <= NOON + 12 * SECOND


def test_a_run_of_one_that_looks_seldom_gives_its_lanes_back_at_once(hosted: Hosted) -> None:
    hosted.serve(look_every=MINUTE)
    hosted.add("act", NOON + MINUTE)
    hosted.run_until(NOON + 52 * SECOND)
    assert hosted.clock.now <= NOON + 54 * SECOND
    assert not hosted.record.owners(hosted.clock.now)


def test_draining_twice_gives_no_more_time(hosted: Hosted) -> None:
    hosted.takes(HOUR)
    hosted.add("long", NOON + SECOND)
    hosted.at(NOON + 20 * SECOND, hosted.process.drain)
    assert not hosted.run_until(NOON + 10 * SECOND)
    assert hosted.clock.now <= NOON + 32 * SECOND


# What goes wrong.


def test_a_queue_that_is_not_there_is_told_at_once(hosted: Hosted) -> None:
    def missing() -> None:
        raise NotDeployed("the table", "duebell")

    hosted.store.on_read = missing
    with pytest.raises(NotDeployed):
        hosted.process.run()


def test_an_outage_is_waited_for_and_what_is_due_runs_after_it(hosted: Hosted) -> None:
    hosted.add("act", NOON + 5 * MINUTE)
    look = hosted.store.on_read

    def out() -> None:
        look()
        if NOON + MINUTE <= hosted.clock.now < NOON + 10 * MINUTE:
            raise OUT

    hosted.store.on_read = out
    hosted.run_until(NOON + 20 * MINUTE)
    [start] = hosted.starts
    assert NOON + 10 * MINUTE <= start <= NOON + 11 * MINUTE
    pauses = [line["trying_again_in"] for line in hosted.log.lines("look_failed")]
    assert pauses[:3] == [1, 2, 4]
    assert max(pauses) == 32


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


def test_a_process_that_finds_the_lanes_held_makes_no_run(hosted: Hosted) -> None:
    hosted.add("act", NOON + MINUTE)
    other = hosted.other(0, 1, 2, 3)
    for seconds in (30, 90):
        hosted.at(NOON + seconds * SECOND, other.lease.renew)
    hosted.run_until(NOON + 3 * MINUTE)
    assert not hosted.log.lines("run")


def test_a_process_makes_no_run_while_the_queue_is_given_more_lanes(hosted: Hosted) -> None:
    hosted.add("act", NOON + MINUTE)
    relaning = {"relaner": "relaner", "relaner_until": NOON + 2 * MINUTE}
    hosted.backend.armer.change(lambda record: replace(record, **relaning))
    hosted.run_until(NOON + 90 * SECOND)
    assert not hosted.log.lines("run")


# Its health, and what is known of it.


def test_it_is_well_as_long_as_it_looks(hosted: Hosted) -> None:
    assert not hosted.process.health().is_well
    hosted.add("act", NOON + MINUTE)
    seen: list[Health] = []
    for seconds in (1, 55):
        hosted.at(NOON + seconds * SECOND, lambda: seen.append(hosted.process.health()))
    hosted.run_until(NOON + 10 * MINUTE)
    assert [health.state for health in seen] == [State.WAITING, State.RUNNING]
    assert all(health.is_well for health in seen)
    assert seen[1].run
    assert hosted.process.health().state is State.DRAINING
    hosted.clock.advance(LEASE + 2 * SECOND)
    assert not hosted.process.health().is_well


def test_it_is_not_well_when_it_could_not_look_for_the_time_of_a_lease(hosted: Hosted) -> None:
    look = hosted.store.on_read

    def out() -> None:
        look()
        if hosted.clock.now > NOON:
            raise OUT

    hosted.store.on_read = out
    seen: list[tuple[timedelta, Health]] = []
    for seconds in range(300):
        hosted.at(
            NOON + seconds * SECOND,
            lambda: seen.append((hosted.clock.now - NOON, hosted.process.health())),
        )
    hosted.run_until(NOON + 5 * MINUTE)
    assert {health.is_well for _, health in seen} == {True, False}
    assert all(health.is_well is (after < LEASE + SECOND) for after, health in seen if health.looked_at)
    assert "no answer" in (seen[-1][1].error or "")


def test_a_process_that_is_full_of_long_actions_is_well(hosted: Hosted) -> None:
    hosted.takes(HOUR)
    for number in range(3):  # one more than it has places for
        hosted.add("long", NOON + number * SECOND)
    seen: list[bool] = []
    for minutes in range(1, 60):
        hosted.at(NOON + minutes * MINUTE, lambda: seen.append(hosted.process.health().is_well))
    hosted.run_until(NOON + 3 * HOUR)
    assert len(seen) == 59
    assert all(seen)


def test_its_actions_are_known_to_editors(hosted: Hosted) -> None:
    hosted.run_until(NOON + MINUTE)
    worker = hosted.editor.worker()
    assert worker
    assert "act" in {action.name for action in worker.actions}
