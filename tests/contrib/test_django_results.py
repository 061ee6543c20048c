"""Django's results of tasks that duebell keeps: attempts, errors, and the parts that are kept."""

# First: it skips these tests where Django is not installed, and configures it before its tasks are imported.
from tests.contrib.project import EDITOR, HOUR, SHOP, signals

# isort: split
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from duebell import Worker
from duebell.contrib.django import AttemptFailed, register_tasks
from duebell.contrib.django.framework import TaskResultDoesNotExist, TaskResultStatus
from duebell.testing import Rehearsal
from tests.contrib.shop import tasks
from tests.contrib.shop.tasks import CALLS


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
    assert (later.status, later.attempts) == ("FAILED", 5)
    assert (never.status, never.attempts) == ("FAILED", 1)
    assert never.errors[0].traceback == "Abort: never"
    assert sent.count(("finished", "FAILED")) == 2


def test_a_task_that_snoozes_has_not_finished(rehearsal: Rehearsal) -> None:
    # Given a task that puts itself off three times
    with signals() as sent:
        result = tasks.wait.enqueue()
        rehearsal.let_time_pass(HOUR)
    result.refresh()
    assert (result.status, result.attempts, result.errors) == ("SUCCESSFUL", 1, [])
    assert [name for name, _ in sent].count("started") == 4
    assert [one for one in sent if one[0] == "finished"] == [("finished", "SUCCESSFUL")]


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


def test_a_return_value_is_not_kept_and_it_says_so(rehearsal: Rehearsal) -> None:
    result = tasks.mail.enqueue(7)
    with pytest.raises(ValueError, match="Task has not finished yet"):
        result.return_value  # noqa: B018
    rehearsal.let_time_pass(HOUR)
    result.refresh()
    with pytest.raises(ValueError, match=r"not kept: let register_tasks\(…, keep_results=True\) keep it"):
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
