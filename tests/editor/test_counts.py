"""Counts of the first screen: overdue, running, due tonight, and by status."""

from datetime import UTC, datetime, timedelta
from unittest import mock

import pytest

from duebell import AwsUnavailable, PastCounts, Status, Then, Worker
from duebell_editor.listing import queue_counts, timeline
from duebell_editor.listing.queue_counts import MOST_COUNTED, next_morning
from duebell_shared.schedules.zones import zone_of
from tests.editor.memory import Scheduler
from tests.support import NOON

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


@pytest.mark.parametrize(
    ("now", "zone", "morning"),
    [
        (datetime(2026, 11, 21, 12, tzinfo=UTC), "UTC", datetime(2026, 11, 22, 6, tzinfo=UTC)),
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
    monkeypatch.setattr(timeline, "PAGE", 10)
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
