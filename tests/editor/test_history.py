"""The history of a task is kept with it, also after a retry, and takes no further write unit."""

import math
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from duebell import Event, Retry, Snooze, Status, Verb, Worker
from duebell_infra.testing import InlinePool
from duebell_shared.queue.items import item_of, task_of, with_fitting_events
from duebell_shared.tasks.history import MAX_PACKED_EVENTS, bounded_events, pack, unpack
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.task import Task
from tests.editor.memory import Scheduler
from tests.support import NOON

MINUTE = timedelta(minutes=1)


def units(task: Task) -> int:
    """The write units of the task's item, by the rule of DynamoDB's documentation."""
    sizes = [
        len(name) + (len(value) if kind in {"S", "B"} else 21 if kind == "N" else 1)
        for name, typed in item_of(task).items()
        for kind, value in typed.items()
    ]
    return math.ceil(sum(sizes) / 1024)


@pytest.fixture
def errors() -> list[Exception]:
    """The errors that the next attempts raise; none once it is empty."""
    return []


@pytest.fixture
def worker(scheduler: Scheduler, errors: list[Exception]) -> Worker:
    worker = Worker(backend=scheduler.backend, pool=lambda _: InlinePool())

    @worker.action("act", attempts=2)
    def act() -> None:
        if errors:
            raise errors.pop(0)

    return worker


def told(events: tuple[Event, ...]) -> list[tuple[str, str | int]]:
    """Each event in short."""
    return [(one.result, one.attempt) if one.attempt else (one.what, one.by or "") for one in events]


def pass_time(scheduler: Scheduler, worker: Worker, by: timedelta = 10 * MINUTE) -> None:
    scheduler.clock.now += by
    worker.run()


def test_a_retry_keeps_the_failures_and_each_change_its_author(
    scheduler: Scheduler, worker: Worker, errors: list[Exception]
) -> None:
    # Given a task of Ann's that failed twice, which Bob retries
    ann, bob = scheduler.editor.acting_as("ann"), scheduler.editor.acting_as("bob")
    ann.add("act", due=MINUTE, id="one")
    errors += [Retry("the bank is closed", after=60), ValueError("no such account")]
    pass_time(scheduler, worker)
    pass_time(scheduler, worker)
    assert ann.get("one").status is Status.FAILED
    bob.retry("one")
    # When it is snoozed, moved by Ann, and done at last
    errors.append(Snooze(5 * MINUTE))
    pass_time(scheduler, worker)
    ann.move("one", due=MINUTE)
    pass_time(scheduler, worker)
    # Then its history tells all of that
    events = bob.get("one").history
    assert told(events) == [
        ("add", "ann"),
        ("retried", 1),
        ("failed", 2),
        ("retry", "bob"),
        ("snoozed", 1),
        ("move", "ann"),
        ("done", 1),
    ]
    first, second = events[1], events[2]
    assert (first.error, second.error) == ("Retry: the bank is closed", "ValueError: no such account")
    assert first.lateness_ms == 9 * 60_000
    assert first.lateness
    assert first.run != second.run
    assert second.ended_at == second.at
    # And its item is as small as that of any other task
    assert units(bob.get("one")) == 1


def test_occurrences_and_a_running_attempt_are_told(scheduler: Scheduler, worker: Worker) -> None:
    scheduler.editor.add("act", schedule="rate(10 minutes)", id="hourly")
    pass_time(scheduler, worker, 11 * MINUTE)
    scheduler.editor.pause("hourly")
    add, done, pause = scheduler.editor.get("hourly").history
    assert (add.what, pause.what) == ("add", "pause")
    assert (done.result, done.due, done.attempt) == ("done", NOON + 10 * MINUTE, 1)


def test_a_plain_life_stores_no_event(scheduler: Scheduler, worker: Worker) -> None:
    scheduler.editor.add("act", due=MINUTE, id="one")
    pass_time(scheduler, worker)
    task = scheduler.editor.get("one")
    assert "events" not in item_of(task)
    assert told(scheduler.editor.get("one").history) == [("add", ""), ("done", 1)]


def test_what_is_forgotten_is_said(scheduler: Scheduler) -> None:
    editor = scheduler.editor
    editor.acting_as("ann").add("act", due=10 * MINUTE, id="one")
    for number in range(30):  # more than there is space for
        editor.acting_as(f"author-{number}").move("one", due=(10 + number) * MINUTE)
    add, forgotten, *moves = editor.get("one").history
    assert (add.what, add.by, forgotten.what) == ("add", None, "forgotten")
    assert moves[-1].by == "author-29"


_EVENTS = st.lists(
    st.builds(
        Event,
        at=st.integers(0, 10**6).map(lambda second: NOON + timedelta(seconds=second)),
        what=st.sampled_from([*Verb, "attempt", "add"]),
        by=st.none() | st.text(max_size=128),
        attempt=st.integers(0, 99),
        run=st.none() | st.uuids().map(str),
        error=st.none() | st.text(max_size=300),
    ),
    max_size=30,
).map(tuple)


@settings(max_examples=60, deadline=None)
@given(events=_EVENTS, size=st.integers(0, 3_000))
def test_events_never_take_a_write_unit_more(events: tuple[Event, ...], size: int) -> None:
    task = new_task(id="one", action="act", due=NOON, payload="x" * size, now=NOON)
    kept = with_fitting_events(replace(task, events=events))
    claimed = {"started_at": NOON, "run": "r" * 36, "lateness_ms": 12_345, "attempt": 1}
    for more in ({}, claimed):
        assert units(replace(kept, **more)) == units(replace(kept, events=(), **more))
    assert task_of(item_of(kept)) == kept
    bounded = bounded_events(events)
    assert len(pack(bounded)) <= MAX_PACKED_EVENTS
    assert unpack(pack(bounded), Event) == bounded
