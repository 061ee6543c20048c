"""Closed hours of actions: nothing starts in them, and what waits starts when they are over."""

from datetime import datetime, timedelta

import pytest

from duebell import Editor, InvalidSettings, Status, Task, Worker
from tests.support import NOON, Clock
from tests.worker.hooked_store import HookedStore
from tests.worker.test_limits import backend, store  # noqa: F401

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)

OPENS = NOON + HOUR


@pytest.fixture
def started(worker: Worker) -> list[Task]:
    """The tasks that the action `mail` was called with; it is closed from 12 to 13 o'clock."""
    started: list[Task] = []

    @worker.action("mail", closed="12:00-13:00")
    def mail(_: object, task: Task) -> None:
        started.append(task)

    return started


def test_tasks_wait_for_the_opening_and_the_rule_rings_for_it(
    editor: Editor,
    worker: Worker,
    clock: Clock,
    started: list[Task],
    store: HookedStore,  # noqa: F811
) -> None:
    worker.action("act")(lambda: None)
    editor.add_many({"action": "mail", "due": NOON, "id": f"mail-{n}"} for n in range(3))
    editor.add("act", due=NOON, id="act")
    report = worker.run()
    # Then only others are started, and the rule rings in the minute of the opening
    assert (report.done, report.limited, started) == (1, 3, [])
    assert report.rings_at == OPENS
    task = editor.get("mail-0")
    assert (task.status, task.attempt, task.limited_since) == (Status.SCHEDULED, 0, NOON)
    assert task.queued
    assert OPENS - SECOND <= task.queued < OPENS
    # When it has opened
    clock.now = OPENS
    assert worker.run().done == 3
    assert {one.limited_since for one in started} == {NOON}
    # And no semaphore was read or written: nothing is counted
    assert not store.calls["read Semaphore", 0]


def test_a_run_that_stays_starts_them_at_the_opening_and_not_before(
    editor: Editor, worker: Worker, clock: Clock
) -> None:
    starts: list[datetime] = []
    worker.action("mail", closed="12:00-13:00")(lambda: starts.append(clock.now))
    editor.add("mail", due=NOON, id="one")
    for clock.now in (NOON, OPENS - 2 * SECOND):
        worker.run(time_left=MINUTE)
    assert starts == [OPENS]
    # A claim, a place, a second place in the last second before the opening, an attempt
    assert editor.get("one").rev == 7


def test_after_the_opening_the_rate_holds(editor: Editor, worker: Worker, clock: Clock) -> None:
    starts: list[datetime] = []
    worker.action("mail", closed="12:00-13:00", per_second=0.5)(lambda: starts.append(clock.now))
    editor.add_many({"action": "mail", "due": NOON, "id": f"mail-{n}"} for n in range(4))
    for clock.now in (NOON, OPENS):
        worker.run(time_left=5 * MINUTE)
    assert starts == [OPENS + n * 2 * SECOND for n in range(4)]


@pytest.mark.parametrize(
    "changed",
    [("never", NOON + MINUTE), ("12:00-12:30", NOON + 30 * MINUTE), ("sat,sun", NOON + 36 * HOUR)],
)
def test_tasks_that_wait_follow_when_the_hours_are_changed(
    editor: Editor, worker: Worker, clock: Clock, started: list[Task], changed: tuple[str, datetime]
) -> None:
    hours, opens = changed
    # Given more waiting tasks than a run would find among others
    editor.add_many({"action": "mail", "due": NOON, "id": f"mail-{n}"} for n in range(150))
    worker.register()
    worker.run()
    clock.advance(MINUTE)
    editor.limit("mail", closed=hours)
    while clock.now < opens:
        report = worker.run()
        assert not started
        assert report.rings_at
        clock.now = report.rings_at
    worker.run()
    assert clock.now == opens
    assert len(started) == 150


def test_a_pause_ends_no_closed_hours_and_these_no_pause(
    editor: Editor, worker: Worker, clock: Clock, started: list[Task]
) -> None:
    editor.add("mail", due=NOON, id="one")
    worker.run()
    editor.limit("mail", at_most=0)
    clock.now = OPENS
    worker.run()
    assert not started
    clock.now = NOON + 23.5 * HOUR
    editor.limit("mail", at_most=None)
    worker.run()
    assert len(started) == 1
    # And in closed hours
    editor.add("mail", due=clock.now)
    editor.limit("mail", at_most=0)
    worker.run()
    clock.now = NOON + 24.5 * HOUR
    editor.limit("mail", at_most=None)
    assert worker.run().rings_at == OPENS + 24 * HOUR
    assert len(started) == 1


def test_a_delivery_is_not_sent_in_its_closed_hours(editor: Editor, worker: Worker) -> None:
    to = "arn:aws:sqs:eu-central-1:123456789012:reminders"
    worker.deliver("remind", to=to, closed="12:00-13:00")
    editor.add("remind", due=NOON, id="a")
    worker.run(time_left=MINUTE)
    task = editor.get("a")
    assert task.status is Status.SCHEDULED
    assert task.queued
    assert OPENS - SECOND < task.queued <= OPENS  # each action has its own instant of that second
    with pytest.raises(InvalidSettings, match="never opens"):
        worker.deliver("always", to=to, closed="mon-sun")
