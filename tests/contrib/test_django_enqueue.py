"""Django's tasks are added to the queue: now, later, by coroutines, or refused."""

# First: it skips these tests where Django is not installed, and configures it before its tasks are imported.
from tests.contrib.project import HOUR, SHOP, signals

# isort: split
import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import override_settings

import duebell
from duebell import Editor
from duebell.contrib.django.framework import InvalidTask, Task
from duebell.contrib.django.results import stored_priority
from duebell.testing import Rehearsal
from tests.contrib.shop import tasks
from tests.contrib.shop.tasks import CALLS


def test_a_task_is_enqueued_and_runs(rehearsal: Rehearsal) -> None:
    result = tasks.mail.enqueue(7, subject="late")

    stored = rehearsal.editor.get(result.id)
    assert (stored.action, stored.due) == (f"{SHOP}.mail", rehearsal.now)
    assert stored.payload["args"] == [7]
    assert stored.payload["kwargs"] == {"subject": "late"}
    assert (result.status, result.args, result.kwargs) == ("READY", [7], {"subject": "late"})
    assert (result.enqueued_at, result.started_at, result.finished_at) == (rehearsal.now, None, None)
    assert (result.attempts, result.errors, result.backend, result.task) == (0, [], "default", tasks.mail)

    rehearsal.let_time_pass(HOUR)
    assert CALLS == [(7, "late")]
    result.refresh()
    assert (result.status, result.is_finished, result.attempts) == ("SUCCESSFUL", True, 1)
    assert result.started_at == result.last_attempted_at
    assert result.started_at <= result.finished_at
    assert result.worker_ids == [rehearsal.editor.get(result.id).run]
    assert tasks.mail.get_result(result.id) == result


def test_a_naive_run_after_is_in_djangos_time_zone(rehearsal: Rehearsal) -> None:
    with override_settings(USE_TZ=False):
        result = tasks.mail.using(run_after=datetime(2026, 7, 1, 12)).enqueue(7)  # noqa: DTZ001
        assert rehearsal.editor.get(result.id).due == datetime(2026, 7, 1, 10, tzinfo=UTC)
        # And so are the times of its result
        assert result.task.run_after == datetime(2026, 7, 1, 12)  # noqa: DTZ001
        assert result.enqueued_at == datetime(2026, 1, 1, 1)  # noqa: DTZ001


def test_coroutines_enqueue_and_look_without_blocking_the_loop(
    rehearsal: Rehearsal, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = []

    def editor() -> Editor:
        try:
            inside.append(bool(asyncio.get_running_loop()))
        except RuntimeError:
            inside.append(False)
        return rehearsal.editor

    monkeypatch.setattr("tests.contrib.project.the_editor", editor)

    async def enqueue() -> Any:
        result = await tasks.greet.aenqueue("Ada")
        assert (await tasks.greet.aget_result(result.id)) == result
        await result.arefresh()
        return result

    with signals() as sent:
        result = asyncio.run(enqueue())
    assert sent == [("enqueued", "READY")]
    assert inside == [False, False, False]
    rehearsal.let_time_pass(HOUR)
    assert CALLS == ["Ada"]
    result.refresh()
    assert (result.status, result.task.queue_name) == ("SUCCESSFUL", "slow")


def nested() -> Task:
    def inner() -> None: ...

    return Task(func=inner)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda: tasks.mail.using(queue_name="fast"), "Queue 'fast' is not valid"),
        (lambda: tasks.mail.using(run_after=datetime(2026, 7, 1)), "must be an aware datetime"),  # noqa: DTZ001
        (nested, "must be defined at a module level"),
    ],
)
def test_django_refuses_what_the_backend_cannot_do(rehearsal: Rehearsal, change: Any, message: str) -> None:
    with pytest.raises(InvalidTask, match=message):
        change()


@pytest.mark.parametrize(
    ("argument", "error"),
    [
        ({1}, TypeError),
        (datetime(2026, 7, 1, tzinfo=UTC), TypeError),
        (b"\xff", ValueError),
        (float("nan"), duebell.InvalidTask),
        ("x" * 400_000, duebell.InvalidTask),
    ],
    ids=["set", "datetime", "bytes", "nan", "large"],
)
def test_arguments_that_are_not_json_are_refused_before_anything_is_written(
    rehearsal: Rehearsal, argument: Any, error: type[Exception]
) -> None:
    with signals() as sent, pytest.raises(error):
        tasks.mail.enqueue(argument)
    assert rehearsal.editor.list().tasks == ()
    assert sent == []


def test_positive_priorities_share_those_of_duebell() -> None:
    told = {-100: 0, -1: 0, 0: 0, 1: 1, 11: 1, 12: 2, 50: 5, 89: 9, 100: 9}
    assert {priority: stored_priority(priority) for priority in told} == told


def test_a_priority_is_stored_and_told(rehearsal: Rehearsal) -> None:
    result = tasks.mail.using(priority=50).enqueue(7)
    assert result.task.priority == 50
    assert rehearsal.editor.get(result.id).priority == 5
    assert tasks.mail.get_result(result.id) == result
    # And still when the task is done
    rehearsal.let_time_pass(HOUR)
    result.refresh()
    assert (result.status, result.task.priority) == ("SUCCESSFUL", 50)
    # And it is that with which the task was enqueued, also if the stored one is changed
    other = tasks.mail.using(priority=50).enqueue(7)
    rehearsal.editor.update(other.id, priority=9)
    assert tasks.mail.get_result(other.id).task.priority == 50


def test_a_task_of_the_default_priority_is_stored_as_without(rehearsal: Rehearsal) -> None:
    stored = rehearsal.editor.get(tasks.mail.enqueue(7).id)
    assert (stored.priority, sorted(stored.payload)) == (0, ["args", "backend", "kwargs", "queue_name"])
    # And one that was added by hand has it, too
    rehearsal.editor.add(f"{SHOP}.mail", due=HOUR, payload={"args": [7]}, id="by hand")
    assert tasks.mail.get_result("by hand").task.priority == 0
