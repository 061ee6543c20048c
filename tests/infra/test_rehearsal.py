"""The scheduler for users' tests: time passes, also on a frozen wall clock, the rule rings, actions run."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from freezegun import freeze_time

from duebell import InvalidQuery, NewTask, Snooze, Status, UnknownAction, Worker
from duebell.testing import Rehearsal

DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)


def test_it_begins_at_a_time_that_is_the_same_on_every_machine() -> None:
    with pytest.raises(InvalidQuery, match="now: must be a datetime with a time zone"):
        Rehearsal(Worker(), now=datetime(2026, 3, 28))  # noqa: DTZ001


def test_nothing_runs_before_its_time() -> None:
    worker, expired = Worker(), list[str]()
    worker.action("expire")(lambda payload: expired.append(payload["user"]))
    rehearsal = Rehearsal(worker)
    rehearsal.editor.add("expire", due=14 * DAY, payload={"user": "bob"}, id="trial-bob")
    assert rehearsal.let_time_pass(14 * DAY - MINUTE) == []
    assert expired == []
    [report] = rehearsal.let_time_pass(2 * MINUTE)
    assert (expired, report.done) == (["bob"], 1)
    assert rehearsal.now == datetime(2026, 1, 15, 0, 1, tzinfo=UTC)
    assert rehearsal.editor.get("trial-bob").status is Status.DONE
    assert rehearsal.editor.status().healthy


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


@pytest.mark.parametrize(
    "freezer",
    [freeze_time(MORNING), time_machine.travel(MORNING, tick=False)],
    ids=["freezegun", "time-machine"],
)
def test_actions_and_the_test_see_the_time_of_the_rehearsal(freezer: Any) -> None:
    # Given a worker that is made before the clock is frozen, as modules are imported before tests
    worker, seen = Worker(), list[tuple[datetime, datetime]]()

    @worker.action("act")
    def act(*, at: datetime) -> None:
        seen.append((at, datetime.now(UTC)))

    with freezer as frozen:
        rehearsal = Rehearsal(worker)
        assert datetime.now(UTC) == MORNING
        rehearsal.also_move(frozen)
        assert datetime.now(UTC) == rehearsal.now == datetime(2026, 1, 1, tzinfo=UTC)
        # Also as times in payloads, which the clock's own types are then
        rehearsal.editor.add("act", due=datetime.now(UTC) + DAY, payload={"at": datetime.now(UTC)})
        rehearsal.let_time_pass(3 * DAY)
        assert datetime.now(UTC) == rehearsal.now == datetime(2026, 1, 4, tzinfo=UTC)
    assert seen == [(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC))]


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
