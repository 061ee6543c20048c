"""The scheduler for users' tests: time passes, also on a frozen wall clock, the rule rings, actions run."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
import time_machine
from freezegun import freeze_time

from duebell import Editor, InvalidQuery, NewTask, Snooze, Status, Task, Then, UnknownAction, Worker
from duebell.testing import FrozenClock, Rehearsal
from duebell_shared.schedules.calendars import Calendar

DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)


@pytest.fixture
def expired() -> list[str]:
    return []


@pytest.fixture
def worker(expired: list[str]) -> Worker:
    worker = Worker()

    @worker.action("expire", attempts=2)
    def expire(payload: dict[str, str], task: Task) -> None:
        if payload.get("fails") and task.attempt == 1:
            raise ValueError("the first time")
        expired.append(payload["user"])

    return worker


def test_it_begins_at_a_time_that_is_the_same_on_every_machine(worker: Worker) -> None:
    with pytest.raises(InvalidQuery, match="now: must be a datetime with a time zone"):
        Rehearsal(worker, now=datetime(2026, 3, 28))  # noqa: DTZ001


def test_nothing_runs_before_its_time(worker: Worker, expired: list[str]) -> None:
    rehearsal = Rehearsal(worker)
    rehearsal.editor.add("expire", due=14 * DAY, payload={"user": "bob"}, id="trial-bob")
    assert rehearsal.let_time_pass(14 * DAY - MINUTE) == []
    assert expired == []
    [report] = rehearsal.let_time_pass(2 * MINUTE)
    assert (expired, report.done) == (["bob"], 1)
    assert rehearsal.now == datetime(2026, 1, 15, 0, 1, tzinfo=UTC)
    assert rehearsal.editor.get("trial-bob").status is Status.DONE
    assert rehearsal.editor.status().healthy


def add_with_a_calendar(editor: Editor) -> None:
    editor.import_calendar("off", Calendar(days={date(2026, 1, 2): "off"}, ends=date(2027, 12, 31)))
    editor.add("note", schedule="0 9 * * *", calendar="off", max_runs=2)


def add_recurring_and_backfill(editor: Editor) -> None:
    editor.add("note", schedule="0 9 * * *", id="daily", payload="daily", max_runs=1)
    editor.backfill("daily", datetime(2025, 12, 1, tzinfo=UTC), datetime(2025, 12, 2, 10, tzinfo=UTC))


#: Tasks that are added at midnight, and the notes then, each with its hour.
FEATURES: dict[str, tuple[Callable[[Editor], object], list[tuple[int, object]]]] = {
    "calendar": (add_with_a_calendar, [(9, {}), (57, {})]),
    "backfill": (add_recurring_and_backfill, [(0, "daily"), (0, "daily"), (9, "daily")]),
    "closed hours": (lambda editor: editor.add("closes", due=HOUR), [(6, "opened")]),
    "batch": (
        lambda editor: editor.batch(
            "b", [NewTask(action="adds", due=2 * HOUR, payload=1)], then=Then("note")
        ),
        [(2, {"batch": {"id": "b", "done": 1, "failed": 0, "cancelled": 0, "expired": 0}})],
    ),
    "result": (
        lambda editor: editor.add("adds", due=HOUR, payload=1, then=Then("note", result_as="total")),
        [(1, {"total": 2})],
    ),
    "time-out": (lambda editor: editor.add("hangs", due=HOUR, on_failed="note"), [(1, "TimedOut")]),
}


@pytest.mark.parametrize("name", FEATURES)
def test_each_feature_can_be_rehearsed(name: str) -> None:
    # Given a worker whose actions have them, and tasks that use one
    worker, noted = Worker(), list[tuple[int, object]]()
    rehearsal = Rehearsal(worker)
    begun, (add, expected) = rehearsal.now, FEATURES[name]

    def note(payload: Any) -> None:
        error = payload.get("error") if isinstance(payload, dict) else None
        noted.append(((rehearsal.now - begun) // HOUR, error["type"] if error else payload))

    def hang() -> None:
        rehearsal.work(5 * MINUTE)

    worker.action("note")(note)
    worker.action("closes", closed="00:00-06:00")(lambda: note("opened"))
    worker.action("adds", keep_result=True)(lambda payload: payload + 1)
    worker.action("hangs", timeout=MINUTE, attempts=1)(hang)
    add(rehearsal.editor)
    # When time passes, then
    rehearsal.let_time_pass(4 * DAY)
    assert noted == expected


@pytest.mark.parametrize("action", ["limited", "polls"])
def test_a_busy_run_lets_no_more_time_pass_than_was_said(action: str) -> None:
    # Given more tasks than a limit allows in that time, or one that is put off again and again
    worker, started = Worker(), list[datetime]()
    rehearsal = Rehearsal(worker)

    def act() -> None:
        started.append(rehearsal.now)
        if action == "polls" and len(started) < 1_000:
            raise Snooze(0)

    worker.action("limited", per_second=1)(act)
    worker.action("polls")(act)
    tasks = (NewTask(action=action, due=timedelta(0)) for _ in range(1 if action == "polls" else 1_000))
    rehearsal.editor.add_many(tasks)
    # When
    begun = rehearsal.now
    rehearsal.let_time_pass(5 * MINUTE)
    # Then
    assert rehearsal.now - begun < 6 * MINUTE
    assert 250 < len(started) <= 6 * 60


def test_what_the_worker_declares_is_there_once_it_is_deployed() -> None:
    worker = Worker()
    worker.recurring("rate(1 hour)", id="hourly")(worker.action("tick")(lambda: None))
    rehearsal = Rehearsal(worker)
    [step] = rehearsal.deploy().steps
    assert step.id == "hourly"
    rehearsal.let_time_pass(5 * HOUR)
    assert rehearsal.editor.get("hourly").runs == 5
    # And from then on tasks are checked by what the worker says of itself
    with pytest.warns(UnknownAction):
        rehearsal.editor.add("tock", due=HOUR)
    assert not rehearsal.deploy().steps


MORNING = datetime(2026, 3, 28, 10, tzinfo=UTC)


@pytest.fixture
def seen() -> list[tuple[datetime, datetime]]:
    """The time in the payload of each task that was run, and the time of the run."""
    return []


@pytest.fixture
def timed(seen: list[tuple[datetime, datetime]]) -> Worker:
    """A worker that is made before the clock is frozen, as modules are imported before tests."""
    worker = Worker()

    @worker.action("act")
    def act(*, at: datetime) -> None:
        seen.append((at, datetime.now(UTC)))

    return worker


@pytest.fixture(params=["freezegun", "time-machine"])
def frozen(request: pytest.FixtureRequest, timed: Worker) -> Iterator[FrozenClock]:
    """A wall clock that stands at ten in the morning, until it is moved."""
    clock = freeze_time(MORNING) if request.param == "freezegun" else time_machine.travel(MORNING, tick=False)
    with clock as frozen:
        yield frozen


def test_actions_and_the_test_see_the_time_of_the_rehearsal(
    timed: Worker, frozen: FrozenClock, seen: list[tuple[datetime, datetime]]
) -> None:
    rehearsal = Rehearsal(timed)
    assert datetime.now(UTC) == MORNING
    rehearsal.also_move(frozen)
    assert datetime.now(UTC) == rehearsal.now == datetime(2026, 1, 1, tzinfo=UTC)
    # Also as times in payloads, which the clock's own types are then
    rehearsal.editor.add("act", due=datetime.now(UTC) + DAY, payload={"at": datetime.now(UTC)})
    rehearsal.let_time_pass(3 * DAY)
    assert seen == [(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC))]
    assert datetime.now(UTC) == rehearsal.now == datetime(2026, 1, 4, tzinfo=UTC)


def test_an_async_test_has_an_async_action_run_in_a_thread() -> None:
    worker, ran = Worker(), list[int]()

    @worker.action
    async def act() -> None:
        ran.append(await asyncio.sleep(0, 1))

    async def test(rehearsal: Rehearsal) -> None:
        act.using(due=timedelta(0)).add()
        await asyncio.to_thread(rehearsal.let_time_pass, MINUTE)

    with Rehearsal(worker) as rehearsal:
        asyncio.run(test(rehearsal))
    assert ran == [1]
