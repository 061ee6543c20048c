"""Django's tasks on duebell, with the real Django: enqueued by it, run by a worker, looked at as results."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

if os.environ.get("DUEBELL_DJANGO") != "required":
    pytest.importorskip("django", reason="Django is not installed: pip install -r requirements-django.txt")
    pytest.importorskip(
        "django.tasks" if find_spec("django.tasks") else "django_tasks",
        reason="this Django has no tasks: pip install -r requirements-django.txt",
    )

import django
from django.conf import settings
from django.core.checks import run_checks
from django.db import connection
from django.test import override_settings

if not settings.configured:
    settings.configure(
        USE_TZ=True,
        TIME_ZONE="Europe/Berlin",
        INSTALLED_APPS=["tests.contrib.shop", "tests.contrib.nothing"],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
        TASKS={
            "default": {
                "BACKEND": "duebell.contrib.django.DuebellBackend",
                "QUEUES": ["default", "slow"],
                "OPTIONS": {"editor": "tests.contrib.test_django.the_editor"},
            }
        },
    )

import duebell
from duebell import Backoff, Editor, Status, Worker
from duebell.contrib.django import AttemptFailed, DuebellBackend, register_tasks
from duebell.contrib.django.framework import (
    InvalidTask,
    InvalidTaskBackend,
    Task,
    TaskResultDoesNotExist,
    TaskResultStatus,
    task_enqueued,
    task_finished,
    task_started,
)
from duebell.testing import Rehearsal
from tests.contrib.shop import jobs, tasks
from tests.contrib.shop.tasks import CALLS

ROOT = Path(__file__).parents[2]
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
SHOP = "tests.contrib.shop.tasks"

TASKS = settings.TASKS["default"]

#: The editor of the test that runs.
EDITOR: list[Editor] = []


def the_editor() -> Editor:
    """What the option `editor` names."""
    return EDITOR[-1]


@pytest.fixture
def rehearsal() -> Iterator[Rehearsal]:
    """A scheduler whose worker runs the app's tasks."""
    worker = Worker()
    register_tasks(worker, backoff=Backoff(first=10 * MINUTE), attempts_of={f"{SHOP}.later": 2})
    with Rehearsal(worker) as rehearsal:
        EDITOR.append(rehearsal.editor)
        CALLS.clear()
        yield rehearsal
        EDITOR.pop()


@contextmanager
def signals() -> Iterator[list[tuple[str, str]]]:
    """The signals that are sent, each with the status that the task then has."""
    sent: list[tuple[str, str]] = []

    def note(name: str) -> Any:
        def receive(sender: type, task_result: Any, **_: Any) -> None:
            assert sender is DuebellBackend
            sent.append((name, task_result.status))

        return receive

    receivers = {"enqueued": task_enqueued, "started": task_started, "finished": task_finished}
    notes = {name: note(name) for name in receivers}
    for name, signal in receivers.items():
        signal.connect(notes[name])
    try:
        yield sent
    finally:
        for name, signal in receivers.items():
            signal.disconnect(notes[name])


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


def test_run_after_is_when_it_is_due(rehearsal: Rehearsal) -> None:
    at = rehearsal.now + timedelta(days=3)
    result = tasks.mail.using(run_after=at).enqueue(7)
    assert rehearsal.editor.get(result.id).due == at
    rehearsal.let_time_pass(timedelta(days=2))
    assert CALLS == []
    assert tasks.mail.get_result(result.id).task.run_after == at
    rehearsal.let_time_pass(timedelta(days=2))
    assert CALLS == [(7, "hello")]


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

    monkeypatch.setattr("tests.contrib.test_django.the_editor", editor)

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


def test_a_task_gets_its_context(rehearsal: Rehearsal) -> None:
    result = tasks.context_seen.enqueue()
    rehearsal.let_time_pass(HOUR)
    assert [(1, result.id, "RUNNING")] == CALLS


def test_a_failing_task_is_tried_again_until_it_has_failed(rehearsal: Rehearsal) -> None:
    with signals() as sent:
        result = tasks.fail.enqueue("no\nNoPost: no stamps")
        rehearsal.let_time_pass(timedelta(minutes=2))
        result.refresh()
        assert (result.status, result.attempts, len(result.errors)) == ("READY", 1, 1)
        assert result.errors[0].exception_class is tasks.NoPost
        first = result.started_at
        assert sent == [("enqueued", "READY"), ("started", "RUNNING")]

        rehearsal.let_time_pass(timedelta(days=1))
    result.refresh()
    assert (result.status, result.is_finished, result.attempts) == ("FAILED", True, 5)
    assert (result.started_at, result.last_attempted_at > first) == (first, True)
    assert len(result.errors) == 5
    assert "NoPost: no\n" in result.errors[-1].traceback
    assert f"raise NoPost(message)\n{SHOP}.NoPost" in result.errors[-1].traceback
    assert result.errors[-1].exception_class is tasks.NoPost
    # Of those before, the message is kept, and not the class
    assert [one.exception_class for one in result.errors[:-1]] == [AttemptFailed] * 4
    assert result.errors[0].traceback == "NoPost: no\nNoPost: no stamps"
    assert sent[-1] == ("finished", "FAILED")
    assert [name for name, _ in sent].count("finished") == 1
    with pytest.raises(ValueError, match="Task failed"):
        result.return_value  # noqa: B018


def test_a_task_may_ask_for_a_retry_or_give_up(rehearsal: Rehearsal) -> None:
    with signals() as sent:
        later, never = tasks.later.enqueue(), tasks.give_up.enqueue()
        rehearsal.let_time_pass(HOUR)
    later.refresh()
    never.refresh()
    assert (later.status, later.attempts) == ("FAILED", 2)  # as `attempts_of` says
    assert (never.status, never.attempts) == ("FAILED", 1)
    assert later.errors[-1].exception_class is duebell.Retry
    assert never.errors[0].exception_class is duebell.Abort
    assert never.errors[0].traceback == "Abort: never"
    assert sent.count(("finished", "FAILED")) == 2


@pytest.mark.parametrize("change", ["cancel", "expire"])
def test_a_task_that_will_not_run_has_failed(rehearsal: Rehearsal, change: str) -> None:
    result = tasks.mail.using(run_after=rehearsal.now + HOUR + timedelta(seconds=30)).enqueue(7)
    if change == "cancel":
        rehearsal.editor.cancel(result.id)
    else:
        rehearsal.editor.update(result.id, expires_after=timedelta(seconds=1))
        rehearsal.let_time_pass(2 * HOUR)
    result.refresh()
    assert (result.status, result.is_finished) == (TaskResultStatus.FAILED, True)
    [error] = result.errors
    assert error.exception_class is AttemptFailed
    assert (
        error.traceback
        == f"the task was {'cancelled' if change == 'cancel' else 'expired'}, and will not run"
    )
    assert CALLS == []


def test_a_paused_task_is_ready(rehearsal: Rehearsal) -> None:
    result = tasks.mail.enqueue(7)
    rehearsal.editor.pause(result.id)
    assert tasks.mail.get_result(result.id).status == "READY"


def test_a_task_that_is_reserved_for_a_transaction_is_ready(rehearsal: Rehearsal) -> None:
    rehearsal.editor.reserve(f"{SHOP}.mail", due=HOUR, payload={"args": [7]}, id="reserved")
    assert tasks.mail.get_result("reserved").status == "READY"


def test_a_return_value_is_not_kept_and_it_says_so(rehearsal: Rehearsal) -> None:
    result = tasks.mail.enqueue(7)
    with pytest.raises(ValueError, match="Task has not finished yet"):
        result.return_value  # noqa: B018
    rehearsal.let_time_pass(HOUR)
    result.refresh()
    with pytest.raises(ValueError, match="duebell keeps no return values: let the task store"):
        result.return_value  # noqa: B018


def test_large_arguments_of_a_done_task_are_not_kept(rehearsal: Rehearsal) -> None:
    result = tasks.mail.enqueue(7, subject="x" * 5000)
    rehearsal.let_time_pass(HOUR)
    assert CALLS == [(7, "x" * 5000)]
    found = tasks.mail.get_result(result.id)
    assert (found.status, found.args, found.kwargs) == ("SUCCESSFUL", [], {})


def nested() -> Task:
    def inner() -> None: ...

    return Task(func=inner)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda: tasks.mail.using(priority=5), "Backend does not support setting priority"),
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


def test_there_is_no_result_of_what_is_none_of_djangos_tasks(rehearsal: Rehearsal) -> None:
    other = rehearsal.editor.add("report", due=HOUR)
    imported = rehearsal.editor.add(f"{SHOP}.CALLS", due=HOUR)
    missing = rehearsal.editor.add(f"{SHOP}.removed", due=HOUR)
    for id in ("none", "", other.id, imported.id, missing.id):
        with pytest.raises(TaskResultDoesNotExist):
            tasks.mail.get_result(id)


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
    with pytest.raises(ValueError, match=r"attempts_of: 'shop\.mail' is none of the tasks tests\.contrib"):
        register_tasks(Worker(), attempts_of={"shop.mail": 1})
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


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"table": "shop"}, r"TASKS\['default'\]\['OPTIONS'\]: 'table' is unknown"),
        ({"editor": "nowhere.editor"}, r"'nowhere\.editor' cannot be imported"),
        ({"editor": 7}, "7 cannot be imported"),
        ({"editor": "tests.contrib.test_django.ROOT"}, "which is no Editor; name an Editor, or a function"),
    ],
)
def test_an_option_that_is_wrong_is_told(options: dict[str, Any], fault: str) -> None:
    with (
        override_settings(TASKS={"default": {**TASKS, "OPTIONS": options}}),
        pytest.raises(InvalidTaskBackend, match=fault),
    ):
        tasks.mail.enqueue(7)


def test_djangos_checks_find_an_editor_that_cannot_be_imported() -> None:
    assert run_checks() == []
    with override_settings(TASKS={"default": {**TASKS, "OPTIONS": {"editor": "nowhere.editor"}}}):
        [error] = DuebellBackend("default", {"OPTIONS": {"editor": "nowhere.editor"}}).check()
    assert (error.id, "cannot be imported" in error.msg) == ("duebell.E001", True)


def test_without_an_option_there_is_one_editor_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    one, two = DuebellBackend("default", {}), DuebellBackend("other", {})
    assert isinstance(one.editor, Editor)
    assert one.editor is two.editor


def test_a_web_process_loads_no_worker() -> None:
    program = (
        "from django.conf import settings\n"
        "settings.configure(TASKS={'default': {'BACKEND': 'duebell.contrib.django.DuebellBackend'}})\n"
        "import django; django.setup()\n"
        "from duebell.contrib.django import DuebellBackend\n"
        "import tests.contrib.shop.jobs\n"
        "import sys; print('duebell_worker' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout == "False\n", done.stderr


def test_this_is_the_real_django() -> None:
    assert django.VERSION >= (5, 2)
    assert Task.__module__ == ("django.tasks.base" if django.VERSION >= (6, 0) else "django_tasks.base")
