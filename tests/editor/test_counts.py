"""Counts of the first screen and the timeline: overdue, owed, running, due tonight, ended, to come."""

import itertools
from datetime import UTC, datetime, timedelta
from unittest import mock
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duebell import AwsUnavailable, Bucket, Editor, PastCounts, ProblemKind, Status, Then, Worker
from duebell_editor.listing import queue_counts, timeline
from duebell_editor.listing.queue_counts import MOST_COUNTED, next_morning
from duebell_editor.listing.recurring import coming
from duebell_editor.listing.timeline import Step, edges
from duebell_shared.schedules.zones import zone_of
from duebell_shared.tasks.task import STARTS_WITHIN, Task
from tests.editor.memory import Scheduler
from tests.support import NOON, Calls, Clock

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


@pytest.mark.parametrize(
    ("now", "zone", "morning"),
    [
        (datetime(2026, 11, 21, 5, 59, tzinfo=UTC), "UTC", datetime(2026, 11, 21, 6, tzinfo=UTC)),
        (datetime(2026, 11, 21, 6, tzinfo=UTC), "UTC", datetime(2026, 11, 22, 6, tzinfo=UTC)),
        (datetime(2026, 11, 21, 23, tzinfo=UTC), "Europe/Berlin", datetime(2026, 11, 22, 5, tzinfo=UTC)),
        # The night in which the clocks are set back has an hour more
        (datetime(2026, 10, 24, 20, tzinfo=UTC), "Europe/Berlin", datetime(2026, 10, 25, 5, tzinfo=UTC)),
        (datetime(2026, 11, 21, 12, tzinfo=UTC), "Asia/Kolkata", datetime(2026, 11, 22, 0, 30, tzinfo=UTC)),
    ],
)
def test_the_night_ends_at_six_by_the_clocks_of_the_zone(now: datetime, zone: str, morning: datetime) -> None:
    assert next_morning(now, zone_of(zone)) == morning


def test_what_is_overdue_is_not_due_tonight_and_the_next_day_is_neither(scheduler: Scheduler) -> None:
    # Given one task that is due at each of these times; tonight ends at six
    for id, due in (
        ("late", NOON),
        ("not-due-yet", NOON + 7 * MINUTE),
        ("soon", NOON + HOUR),
        ("last", NOON + 18 * HOUR),
        ("tomorrow", NOON + 18 * HOUR + MINUTE),
    ):
        scheduler.editor.add("act", due=due, id=id)
    scheduler.clock.now = NOON + 6 * MINUTE
    status = scheduler.editor.status()
    assert (status.overdue, status.due_tonight, status.queued) == (1, 3, 5)
    assert status.tonight_ends == NOON + 18 * HOUR
    # And the list finds as many with the same bounds
    tonight = scheduler.editor.list(after=NOON + MINUTE, before=status.tonight_ends).tasks
    assert [task.id for task in tonight] == ["not-due-yet", "soon", "last"]


def test_the_list_of_overdue_tasks_is_what_the_status_counts(scheduler: Scheduler) -> None:
    # Given one task that is late, one that runs, one of a group that owes a follow-up, and one just due
    editor, clock = scheduler.editor, scheduler.clock
    late, runs = (editor.add("act", due=NOON, id=id) for id in ("late", "runs"))
    owes = editor.add("act", due=NOON, id="owes", then=Then("hear"))
    editor.add("act", due=NOON + 9 * MINUTE, id="just-due")
    record = scheduler.store.read_record()
    assert record
    held = record.claimed("run", now=NOON, until=NOON + 11 * MINUTE)
    assert scheduler.store.swap_record(record, held)
    scheduler.become(runs, Status.RUNNING)
    scheduler.become(scheduler.become(owes, Status.RUNNING), Status.DONE)
    # When the run is alive, then what it runs is not overdue; once it has died, it is
    for minutes, expected in ((10, [late]), (12, [late, runs])):
        clock.now = NOON + minutes * MINUTE
        for group in ("", "r"):
            first = editor.list(status="overdue", prefix=group, limit=1)
            rest = editor.list(status="overdue", prefix=group, cursor=first.cursor) if first.cursor else None
            ids = [task.id for page in (first, rest) if page for task in page.tasks]
            assert ids == [task.id for task in expected if task.id.startswith(group)]
        assert editor.status().overdue == len(expected)
    assert editor.select("run_now", status="overdue").ids == ("late",)


def test_what_is_due_tonight_is_counted_beyond_a_thousand_as_in_the_timeline(scheduler: Scheduler) -> None:
    scheduler.editor.add_many({"action": "act", "due": HOUR} for _ in range(1_234))
    status = scheduler.editor.status()
    assert (status.queued, status.due_tonight, status.due_tonight_is_estimate) == (MOST_COUNTED, 1_234, False)
    assert sum(one.count for one in scheduler.editor.timeline(NOON)) == 1_234


def test_where_one_lane_is_counted_for_all_what_is_due_tonight_is_as_in_the_timeline(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_counts, "MOST_COUNTED", 10)
    monkeypatch.setattr(timeline, "LARGEST_PAGE", 10)
    scheduler.editor.add_many({"action": "act", "due": HOUR, "id": f"t{n}"} for n in range(100))
    status, buckets = scheduler.editor.status(), scheduler.editor.timeline(NOON)
    assert (
        status.due_tonight
        == sum(one.count for one in buckets)
        == 4 * sum(scheduler.editor.get(f"t{n}").lane == 0 for n in range(100))
    )
    assert status.due_tonight_is_estimate
    assert buckets[-1].is_estimate


def test_tasks_that_a_pause_has_put_back_are_not_due_tonight(scheduler: Scheduler) -> None:
    worker = Worker(backend=scheduler.backend)
    for name in ("act", "other"):
        worker.action(name)(lambda: None)
    worker.register()
    scheduler.editor.add_many({"action": "act", "due": NOON, "id": f"t{n}"} for n in range(5))
    scheduler.editor.limit("act", at_most=0)
    worker.run()
    at = scheduler.editor.get("t0").queued
    assert at
    scheduler.clock.now = at - timedelta(minutes=30)
    scheduler.editor.add("other", due=timedelta(minutes=10))
    assert scheduler.editor.status().due_tonight == 1


def test_tasks_out_of_the_queue_are_counted_by_status(scheduler: Scheduler) -> None:
    wanted = {Status.PAUSED: 1, Status.DONE: 2, Status.EXPIRED: 3, Status.CANCELLED: 4, Status.FAILED: 5}
    for status, count in wanted.items():
        for _ in range(count):
            scheduler.become(scheduler.editor.add("act", due=HOUR), status)
    # And one that recurs is paused as well
    scheduler.editor.pause(scheduler.editor.add("act", schedule="rate(1 hour)").id)
    assert scheduler.editor.past_counts() == PastCounts(paused=2, done=2, expired=3, cancelled=4)
    assert scheduler.editor.status().failed == 5


def test_a_lane_that_cannot_be_read_counts_as_due_and_the_others_are_counted(scheduler: Scheduler) -> None:
    scheduler.editor.add_many({"action": "act", "due": HOUR} for _ in range(40))
    queued = scheduler.store.queued

    def with_trouble(lane: int, **bounds: object) -> object:
        if lane == 2:
            raise AwsUnavailable("no answer")
        return queued(lane, **bounds)  # type: ignore[arg-type]

    with mock.patch.object(scheduler.store, "queued", with_trouble):
        status = scheduler.editor.status()
    assert 0 < status.queued < 40
    assert status.next_due == scheduler.clock.now


def owe(scheduler: Scheduler, task: Task) -> None:
    """Have this task done, and owe its follow-up."""
    assert scheduler.become(scheduler.become(task, Status.RUNNING), Status.DONE).owes


def test_a_task_that_owes_is_counted_once(scheduler: Scheduler) -> None:
    # Given a task that is done and owes, one that is overdue, and one that waits
    ended = scheduler.editor.add("act", due=MINUTE, id="ended", then=Then("hear"))
    scheduler.editor.add("act", due=MINUTE, id="late")
    scheduler.editor.add("act", due=HOUR, id="waits")
    scheduler.clock.now = NOON + 2 * MINUTE
    owe(scheduler, ended)
    scheduler.clock.now = NOON + 10 * MINUTE

    # Then each counts for what it is
    status = scheduler.editor.status()
    assert (status.follow_ups_owed, status.queued, status.overdue, status.due_tonight) == (1, 2, 1, 1)
    assert status.next_due == NOON + MINUTE
    assert scheduler.editor.past_counts().done == 1
    first, *others = scheduler.editor.timeline(NOON, count=3)
    assert (first.count, first.overdue, [one.count for one in others]) == (1, 1, [1, 0])


def test_what_waits_behind_hundreds_that_owe_is_counted_as_well(scheduler: Scheduler) -> None:
    # Given more that owe than one read of tasks returns, before one that runs
    tasks = [scheduler.editor.add("act", due=MINUTE, then=Then("hear")) for _ in range(230)]
    last = scheduler.editor.add("act", due=2 * MINUTE)
    scheduler.clock.now = NOON + 3 * MINUTE
    for task in tasks:
        owe(scheduler, task)
    scheduler.become(last, Status.RUNNING)

    status = scheduler.editor.status()
    assert (status.follow_ups_owed, status.queued, status.running) == (230, 1, 1)


def test_follow_ups_that_are_owed_for_long_are_a_problem(scheduler: Scheduler) -> None:
    task = scheduler.editor.add("act", due=MINUTE, id="charge-42", then=Then("hear"))
    scheduler.clock.now = NOON + 2 * MINUTE
    owe(scheduler, task)

    # Then it is no problem for as long as a run may take to try again
    scheduler.clock.now += STARTS_WITHIN
    assert ProblemKind.FOLLOW_UPS_OWED not in {one.kind for one in scheduler.editor.status().problems}
    scheduler.clock.now += timedelta(seconds=1)
    problems = {one.kind: one for one in scheduler.editor.status().problems}
    found = problems[ProblemKind.FOLLOW_UPS_OWED]
    assert found.what.endswith("the first by 'charge-42' since 2026-11-21T12:02:00.000Z")
    assert "each run tries again" in found.way_out
    assert (found.at, found.mendable) == (NOON + 2 * MINUTE, True)
    # And nothing is told to be overdue, for which the way out would be another
    assert ProblemKind.OVERDUE not in problems


def test_a_status_costs_no_more_where_nothing_owes(editor: Editor, clock: Clock, calls: Calls) -> None:
    editor.add("act", due=MINUTE)
    clock.advance(10 * MINUTE)
    calls.clear()
    editor.status()
    assert calls["BatchGetItem"] == 1


def counts(buckets: tuple[Bucket, ...]) -> list[int]:
    return [bucket.count for bucket in buckets]


def test_a_recurring_task_counts_at_each_of_its_times(scheduler: Scheduler) -> None:
    # Given one task an hour, one a day in a zone, one that is paused, and one that runs once
    editor = scheduler.editor
    editor.add("sync", schedule="rate(1 hour)", id="hourly-sync")
    editor.add("report", schedule="0 9 * * *", timezone="Europe/Berlin", id="daily")
    editor.add("sync", schedule="rate(1 minute)", id="paused")
    editor.pause("paused")
    editor.add("once", due=HOUR + MINUTE)
    # Then the next day has 24 of the first and one of the second
    day = editor.timeline(NOON + HOUR, count=24)
    assert sum(counts(day)) == 24 + 1 + 1
    assert counts(day)[:2] == [2, 1]
    assert [bucket.start for bucket in day if bucket.count == 2][1] == datetime(2026, 11, 22, 8, tzinfo=UTC)
    assert sum(bucket.occurrences for bucket in day) == 23  # the next of each is in the queue
    assert not any(bucket.is_estimate for bucket in day)
    # And what has been has none, which is exact
    past = editor.timeline(NOON - 24 * HOUR, count=24)
    assert (sum(counts(past)), any(bucket.is_estimate for bucket in past)) == (0, False)


def test_a_schedule_that_ends_counts_until_then(scheduler: Scheduler) -> None:
    editor = scheduler.editor
    editor.add("sync", schedule="rate(1 hour)", id="three", max_runs=3)
    editor.add("sync", schedule="rate(1 hour)", id="until", end=NOON + 5 * HOUR)
    assert counts(editor.timeline(NOON, count=8)) == [0, 2, 2, 2, 1, 1, 0, 0]
    # And an occurrence that is retried beside the next has its own place
    scheduler.clock.advance(HOUR)
    editor.run_now("three")
    assert sum(counts(editor.timeline(NOON, count=8))) == 3 + 1 + 5


def test_overdue_tasks_are_told_where_they_were_due_as_the_status_counts_them(scheduler: Scheduler) -> None:
    scheduler.editor.add("x", due=10 * MINUTE)
    scheduler.editor.add("x", due=HOUR)
    scheduler.clock.advance(11 * MINUTE)
    # Given a ring that may come yet, then one that did not come
    for after, overdue in ((0, (0, 0)), (5, (1, 0)), (45, (1, 1))):
        scheduler.clock.advance(after * MINUTE)
        buckets = scheduler.editor.timeline(NOON, count=2)
        assert [bucket.count for bucket in buckets] == [1, 1]
        assert tuple(bucket.overdue for bucket in buckets) == overdue
        assert scheduler.editor.status().overdue == sum(overdue)


def test_overdue_tasks_of_a_long_queue_are_counted_and_not_estimated(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a queue of which one lane is counted for all, and two overdue tasks
    monkeypatch.setattr(timeline, "LARGEST_PAGE", 10)
    scheduler.editor.add_many({"action": "x", "due": 20 * HOUR} for _ in range(80))
    for id in ("a", "b"):
        scheduler.editor.add("x", due=10 * MINUTE, id=id)
    scheduler.clock.advance(HOUR)
    buckets = scheduler.editor.timeline(NOON, count=30)
    assert [one.is_estimate for one in buckets] == [False] * 20 + [True] * 10
    assert (buckets[0].count, buckets[0].overdue) == (2, 2)
    assert scheduler.editor.status().overdue == 2


EXPRESSIONS = [
    "rate(7 minutes)",
    "* * * * *",
    "*/20 1-3 * * *",
    "0 9 * * MON-FRI",
    "30 2 * * *",
    "rate(3 days)",
]


@given(
    expression=st.sampled_from(EXPRESSIONS),
    spread=st.integers(1, 7200),
    max_runs=st.none() | st.integers(1, 50),
    stretch=st.sampled_from([(Step.MINUTE, 90), (Step.HOUR, 30), (Step.DAY, 3)]),
    minutes=st.tuples(st.integers(0, 300), st.integers(-200, 200)),
)
@settings(deadline=None, max_examples=50)
def test_counting_ahead_is_the_same_as_going_through_the_times(
    expression: str, spread: int, max_runs: int | None, stretch: tuple[Step, int], minutes: tuple[int, int]
) -> None:
    # Given a recurring task, some time after it was added
    scheduler = Scheduler.start()
    zone = ZoneInfo("Europe/Berlin")
    task = scheduler.editor.add(
        "x", schedule=expression, timezone=zone.key, max_runs=max_runs, spread=timedelta(seconds=spread)
    )
    assert task.queued and task.recurrence  # noqa: PT018
    passed, shift = minutes
    now = NOON + passed * MINUTE
    borders = edges(now + shift * MINUTE, *stretch, zone)
    # When its occurrences are gone through one by one
    delay = task.queued - task.due
    times, due = [], task.due
    while (next_due := task.recurrence.schedule.next_after(due)) and next_due + delay < borders[-1]:
        times.append(next_due + delay)
        due = next_due
    times = [at for at in times if at >= now][: None if max_runs is None else max_runs - 1]
    # Then there are as many in each bucket
    expected = [sum(begin <= at < end for at in times) for begin, end in itertools.pairwise(borders)]
    assert coming([task], borders, now) == expected
