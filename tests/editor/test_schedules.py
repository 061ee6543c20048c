"""Recurring tasks: listed together, and their occurrences counted ahead."""

import itertools
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duebell import Bucket
from duebell_editor.listing import timeline
from duebell_editor.listing.recurring import coming
from duebell_editor.listing.timeline import Step, edges
from tests.editor.memory import Scheduler
from tests.support import NOON

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


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
    monkeypatch.setattr(timeline, "PAGE", 10)
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
