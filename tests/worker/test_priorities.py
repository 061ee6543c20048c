"""Priorities in a run: of what waits for a place, as far as the run sees, higher ones are started first."""

from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from duebell import Backoff, Editor, Retry, Task, Worker
from duebell_shared.backend import Backend
from duebell_shared.tasks.task import QueueKey
from duebell_worker.run.lanes import Lanes, ReadAhead, Trouble
from tests.support import NOON, Clock

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


@pytest.fixture
def started() -> list[str]:
    return []


@pytest.fixture
def one_by_one(backend: Backend, started: list[str]) -> Worker:
    """A worker for one task at a time."""
    worker = Worker(backend=backend, concurrency=1)

    @worker.action("act")
    def act(payload: object, task: Task) -> None:
        started.append(task.id)

    return worker


def test_of_what_waits_higher_priorities_are_started_first_then_the_earliest(
    editor: Editor, one_by_one: Worker, clock: Clock, started: list[str]
) -> None:
    for number, priority in enumerate((0, 9, 0, 5, 9, 0, 5)):
        editor.add("act", due=NOON + number * SECOND, id=f"{priority}-{number}", priority=priority)
    clock.advance(MINUTE)
    one_by_one.run()
    assert started == ["9-1", "9-4", "5-3", "5-6", "0-0", "0-2", "0-5"]


def test_a_retry_keeps_its_priority(editor: Editor, backend: Backend, clock: Clock) -> None:
    started: list[str] = []
    worker = Worker(backend=backend, concurrency=1)

    @worker.action("act", attempts=3, backoff=Backoff(first=MINUTE))
    def act(payload: object, task: Task) -> None:
        started.append(task.id)
        if task.id == "urgent" and task.attempt == 1:
            raise Retry(after=MINUTE)

    editor.add("act", due=NOON, id="urgent", priority=7)
    clock.advance(MINUTE)
    worker.run()
    assert editor.get("urgent").priority == 7
    editor.add("act", due=clock.now, id="plain")
    clock.advance(10 * MINUTE)
    worker.run()
    assert started == ["urgent", "urgent", "plain"]
    assert editor.get("urgent").status == "done"


def keys(*priorities: int) -> Iterator[QueueKey]:
    for number, priority in enumerate(priorities):
        yield QueueKey(queued=NOON + number * SECOND, id=str(number), lane=0, priority=priority)


def order(ahead: ReadAhead) -> list[int]:
    found = []
    while ahead:
        ahead.read_on()
        found.append(int(ahead.pop().id))
    return found


def test_without_priorities_no_more_than_a_thousand_keys_are_read_ahead() -> None:
    to_read = keys(*[0] * 5_000)
    ahead = ReadAhead(to_read, now=NOON + timedelta(days=1), skipping=())
    for _ in range(100):
        assert ahead
        ahead.read_on()
    assert int(next(to_read).id) == 1_000


def test_once_a_priority_is_in_sight_a_burst_is_seen_through() -> None:
    to_read = keys(*[0] * 50, 1, *[0] * 60_000, 9)
    ahead = ReadAhead(to_read, now=NOON + timedelta(days=1), skipping=())
    found = order(ahead)
    assert found[0] == 50
    assert found.index(60_051) < 1_000
    assert found[1:] != sorted(found)
    assert len(found) == 60_052


def test_lower_priorities_go_on_when_no_more_fit_in_sight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("duebell_worker.run.lanes.IN_SIGHT", 1)
    monkeypatch.setattr("duebell_worker.run.lanes.MOST_WITH_PRIORITIES", 10)
    mixed = keys(*[9 if number % 2 else 0 for number in range(200)])
    found = order(ReadAhead(mixed, now=NOON + timedelta(days=1), skipping=()))
    # The eleventh task of priority 0 that comes into sight lets the first of them go
    assert found.index(0) < 25
    assert sorted(found) == list(range(200))


def test_tasks_of_one_moment_are_in_order_over_all_lanes(backend: Backend, editor: Editor) -> None:
    for number in range(40):
        editor.add("act", due=NOON, id=f"{number:02}", priority=number % 3)
    run: Any = SimpleNamespace(backend=backend, now=backend.clock)
    reader = Lanes(run, run, Trouble("run", backend.clock))
    _, found = reader.queued(range(4), now=NOON)
    assert [key.priority for key in found] == sorted((number % 3 for number in range(40)), reverse=True)
