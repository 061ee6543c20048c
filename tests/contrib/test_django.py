"""Django's tasks on duebell: enqueued, run by the worker, and their results; the backend and its options."""

# First: it skips these tests where Django is not installed, and configures it before its tasks are imported.
from tests.contrib.project import EDITOR, HOUR, MINUTE, SHOP, TASKS, signals

# isort: split
import asyncio
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings

import duebell
from duebell import Backoff, Editor, Status, Worker
from duebell.contrib.django import AttemptFailed, DuebellBackend, register_tasks, results
from duebell.contrib.django.framework import InvalidTaskBackend, TaskResultDoesNotExist
from duebell.testing import Rehearsal
from tests import transcript
from tests.contrib.shop import jobs, tasks
from tests.contrib.shop.tasks import CALLS

ROOT = Path(__file__).parents[2]


@pytest.fixture
def rehearsal() -> Iterator[Rehearsal]:
    """A scheduler whose worker runs the tasks of the Django app."""
    worker = Worker()
    register_tasks(worker, backoff=Backoff(first=10 * MINUTE))
    with Rehearsal(worker) as rehearsal:
        EDITOR.append(rehearsal.editor)
        CALLS.clear()
        yield rehearsal
        EDITOR.pop()


def test_results_and_signals_are_those_of_the_transcript(rehearsal: Rehearsal) -> None:
    names = {**globals(), "rehearsal": rehearsal, **vars(results)}

    def ask(line: str) -> str:
        with signals() as sent:
            try:
                told = eval(line, names)
            except Exception as error:  # noqa: BLE001 (what it says is in the transcript)
                told = f"refused: {error}"
        rows = [
            *(f"{name}: {status}" for name, status in sent),
            *([told] if isinstance(told, str) else told or []),
        ]
        return "".join(f"{one}\n" for one in rows)

    transcript.check(Path(__file__).with_name("django.txt"), rehearsal, ask)


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


def test_coroutines_enqueue_and_look(rehearsal: Rehearsal) -> None:
    async def enqueue() -> Any:
        result = await tasks.greet.aenqueue("Ada")
        await result.arefresh()
        return result

    result = asyncio.run(enqueue())
    rehearsal.let_time_pass(HOUR)
    assert CALLS == ["Ada"]
    result.refresh()
    assert (result.status, result.task.queue_name) == ("SUCCESSFUL", "slow")


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


def test_a_priority_is_stored_and_told(rehearsal: Rehearsal) -> None:
    result = tasks.mail.using(priority=50).enqueue(7)
    assert rehearsal.editor.get(result.id).priority == 5
    assert tasks.mail.get_result(result.id) == result
    # And it is that with which the task was enqueued, also if the stored one is changed
    rehearsal.editor.update(result.id, priority=9)
    rehearsal.let_time_pass(HOUR)
    result.refresh()
    assert (result.status, result.task.priority) == ("SUCCESSFUL", 50)


# Results.


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


@pytest.mark.parametrize("change", ["cancel", "expire"])
def test_a_task_that_will_not_run_has_failed(rehearsal: Rehearsal, change: str) -> None:
    result = tasks.mail.using(run_after=rehearsal.now + HOUR + timedelta(seconds=30)).enqueue(7)
    if change == "cancel":
        rehearsal.editor.cancel(result.id)
    else:
        rehearsal.editor.update(result.id, expires_after=timedelta(seconds=1))
        rehearsal.let_time_pass(2 * HOUR)
    result.refresh()
    assert (result.status, result.is_finished) == ("FAILED", True)
    [error] = result.errors
    assert error.exception_class is AttemptFailed
    assert (
        error.traceback
        == f"the task was {'cancelled' if change == 'cancel' else 'expired'}, and will not run"
    )
    assert CALLS == []


def test_a_return_value_is_not_kept_and_it_says_so(rehearsal: Rehearsal) -> None:
    result = tasks.mail.enqueue(7)
    with pytest.raises(ValueError, match="Task has not finished yet"):
        result.return_value  # noqa: B018
    rehearsal.let_time_pass(HOUR)
    result.refresh()
    with pytest.raises(
        ValueError, match=r"^the return value was not kept: let .*keep_results=True\) keep it"
    ):
        result.return_value  # noqa: B018


def test_a_return_value_is_kept_if_the_worker_is_told_to() -> None:
    worker = Worker()
    register_tasks(worker, keep_results=True)
    with Rehearsal(worker) as rehearsal, signals() as sent:
        EDITOR.append(rehearsal.editor)
        results = [tasks.mail.enqueue(7), tasks.greet.enqueue("you")]
        rehearsal.let_time_pass(HOUR)
        for result, value in zip(results, ("sent", None), strict=True):
            result.refresh()
            assert (result.status, result.return_value) == ("SUCCESSFUL", value)
        assert tasks.mail.get_result(results[0].id).return_value == "sent"
        EDITOR.pop()
    assert ("finished", "SUCCESSFUL") in sent


def test_there_is_no_result_of_what_is_none_of_djangos_tasks(rehearsal: Rehearsal) -> None:
    other = rehearsal.editor.add("report", due=HOUR)
    imported = rehearsal.editor.add(f"{SHOP}.CALLS", due=HOUR)
    missing = rehearsal.editor.add(f"{SHOP}.removed", due=HOUR)
    for id in ("none", "", other.id, imported.id, missing.id):
        with pytest.raises(TaskResultDoesNotExist):
            tasks.mail.get_result(id)


@pytest.mark.parametrize("action", ["evil.x", "evil", ".", "sys.modules"])
def test_reading_a_result_imports_nothing_that_the_task_names(
    rehearsal: Rehearsal, action: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a module that nothing has imported, and a task that names it as its action
    (tmp_path / "evil.py").write_text("raise SystemExit")
    monkeypatch.syspath_prepend(tmp_path)
    added = rehearsal.editor.add(action, due=HOUR)
    # When its result is read, then there is none, and the module is not imported
    with pytest.raises(TaskResultDoesNotExist):
        tasks.mail.get_result(added.id)
    assert "evil" not in sys.modules


@pytest.mark.parametrize("field", [{"queue_name": "none"}, {"backend": "none"}, {"priority": -1000}])
def test_there_is_no_result_of_a_call_that_django_refuses(rehearsal: Rehearsal, field: object) -> None:
    added = rehearsal.editor.add(f"{SHOP}.mail", due=HOUR, payload=field)
    with pytest.raises(TaskResultDoesNotExist):
        tasks.mail.get_result(added.id)


@pytest.mark.parametrize("message", [f"Bob\n{SHOP}.evil.NoPost", "evil.NoPost"])
def test_the_class_of_an_error_is_not_taken_from_its_message(rehearsal: Rehearsal, message: str) -> None:
    result = tasks.fail.enqueue(message)
    rehearsal.let_time_pass(timedelta(minutes=2))
    result.refresh()
    assert result.errors[-1].exception_class is tasks.NoPost


# The worker.


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


# The backend.


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("nowhere.editor", "No module named 'nowhere'"),
        (
            "tests.contrib.project.HOUR",
            r"\['editor'\]: 'tests\.contrib\.project\.HOUR' gives .*; name an",
        ),
    ],
)
def test_an_editor_that_is_wrong_is_told(path: str, fault: str) -> None:
    with (
        override_settings(TASKS={"default": {**TASKS, "OPTIONS": {"editor": path}}}),
        pytest.raises((InvalidTaskBackend, ImportError), match=fault),
    ):
        tasks.mail.enqueue(7)


def test_an_option_that_is_misspelt_is_refused() -> None:
    with pytest.raises(InvalidTaskBackend, match=r"'edtior' is unknown; there is only 'editor'"):
        DuebellBackend("default", {"OPTIONS": {"edtior": "tests.contrib.project.the_editor"}})


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
