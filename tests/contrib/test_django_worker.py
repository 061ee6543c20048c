"""The worker runs Django's tasks: one action each, with its context and the connections closed."""

# First: it skips these tests where Django is not installed, and configures it before its tasks are imported.
from tests.contrib.project import HOUR, SHOP

# isort: split
from datetime import timedelta

import pytest
from django.db import connection
from django.test import override_settings

import duebell
from duebell import Status, Worker
from duebell.contrib.django import AttemptFailed, register_tasks
from duebell.testing import Rehearsal
from tests.contrib.shop import jobs, tasks
from tests.contrib.shop.tasks import CALLS


def test_a_task_gets_its_context(rehearsal: Rehearsal) -> None:
    result = tasks.context_seen.enqueue()
    rehearsal.let_time_pass(HOUR)
    assert [(1, result.id, "RUNNING")] == CALLS


def test_a_task_that_is_added_by_hand_runs_on_a_schedule_too(rehearsal: Rehearsal) -> None:
    rehearsal.editor.add(f"{SHOP}.scheduled_by_hand", schedule="rate(1 hour)", id="hourly")
    rehearsal.let_time_pass(2.5 * HOUR)
    assert CALLS == ["by hand"] * 2
    result = tasks.scheduled_by_hand.get_result("hourly")
    assert (result.status, result.args, result.backend) == ("READY", [], "default")


def test_a_payload_that_is_no_call_fails_at_once(rehearsal: Rehearsal) -> None:
    for id, payload in {"list": [7], "name": {"arg": [7]}}.items():
        rehearsal.editor.add(f"{SHOP}.mail", due=timedelta(0), payload=payload, id=id)
    rehearsal.let_time_pass(HOUR)
    for id in ("list", "name"):
        stored = rehearsal.editor.get(id)
        assert (stored.status, stored.attempt) == (Status.FAILED, 1)
        assert tasks.mail.get_result(id).errors[-1].exception_class is AttemptFailed
    # And an editor that knows the worker refuses it
    rehearsal.deploy()
    with pytest.raises(duebell.InvalidTask, match=r"payload\.arg: is not a field: did you mean args\?"):
        rehearsal.editor.add(f"{SHOP}.mail", due=HOUR, payload={"arg": [7]})


def test_arguments_that_the_function_does_not_take_are_a_failed_attempt(rehearsal: Rehearsal) -> None:
    result = tasks.mail.enqueue(7, 8, 9)
    rehearsal.let_time_pass(timedelta(minutes=2))
    result.refresh()
    assert result.errors[0].exception_class is TypeError


def test_connections_to_the_database_are_closed_around_a_task(
    rehearsal: Rehearsal, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = []
    # An in-memory SQLite connection is never closed, so look at when Django is told to
    monkeypatch.setattr(
        "duebell.contrib.django.worker.close_old_connections", lambda: held.append(len(CALLS))
    )
    connection.ensure_connection()
    tasks.mail.enqueue(7)
    tasks.give_up.enqueue()
    rehearsal.let_time_pass(HOUR)
    assert len(held) == 4
    assert max(held) == 1


def test_the_worker_has_an_action_for_each_task() -> None:
    worker = Worker()
    names = register_tasks(worker, modules=["tests.contrib.shop.jobs"], attempts=2)
    assert sorted(names) == sorted(
        [f"{SHOP}.{name}" for name in tasks.__all__ if name != "CALLS"] + [jobs.clean.module_path]
    )
    action = worker._actions[f"{SHOP}.mail"]
    assert (action.attempts, action.__module__, action.__doc__) == (2, SHOP, "Send a mail.")


def test_tasks_that_are_not_there_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"tests\.contrib\.nowhere"):
        register_tasks(Worker(), modules=["tests.contrib.nowhere"])
    worker = Worker()
    register_tasks(worker)
    with pytest.raises(ValueError, match=r"there is an action 'tests\.contrib\.shop\.tasks\."):
        register_tasks(worker)
    with override_settings(INSTALLED_APPS=["tests.contrib.nothing"]):
        with pytest.raises(ValueError, match="no tasks in the installed apps: none has a module tasks"):
            register_tasks(Worker())
        with pytest.raises(ValueError, match=r"there are no tasks in tests\.support"):
            register_tasks(Worker(), modules="tests.support")
