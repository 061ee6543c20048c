"""The author of a change: kept on the task, told in one log line, and in the table's audit trail."""

import logging
import platform
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import boto3
import pytest
from msgspec.structs import replace

from duebell import (
    DuebellError,
    Editor,
    InvalidQuery,
    InvalidSettings,
    InvalidTask,
    NewTask,
    Settings,
    Status,
)
from duebell_shared.audit import from_place
from duebell_shared.backend import Backend
from duebell_shared.queue.items import item_of, task_of
from duebell_shared.settings import AuditTo
from duebell_shared.tasks.checks import fit_changed_by
from tests.editor.memory import Scheduler
from tests.support import Calls, Clock

HOUR = timedelta(hours=1)

HERE = f"host {platform.node()}"

Told = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def here() -> Iterator[None]:
    """Changes come from this host: a command of an earlier test may have said otherwise for the process."""
    with from_place(HERE):
        yield


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Callable[[], Told]:
    """The log lines of changes since the last call."""
    caplog.set_level(logging.INFO, "duebell.audit")

    def since() -> Told:
        found = [vars(record)["fields"] for record in caplog.records if record.getMessage() == "changed"]
        caplog.clear()
        return found

    return since


def changes(editor: Editor) -> dict[str, Callable[[], object]]:
    """Each way to change the tasks of `a_queue`, by what the log calls it."""
    return {
        "add": lambda: editor.add("x", due=HOUR, id="new"),
        "replace": lambda: editor.add("x", due=HOUR, id="a", if_exists="replace"),
        "move": lambda: editor.move("a", due=2 * HOUR),
        "update": lambda: editor.update("a", payload=1),
        "cancel": lambda: editor.cancel("a"),
        "pause": lambda: editor.pause("a"),
        "resume": lambda: editor.resume("paused"),
        "run_now": lambda: editor.run_now("a"),
        "retry": lambda: editor.retry("failed"),
    }


CHANGES = list(changes(Scheduler.start().editor))


def a_queue(scheduler: Scheduler) -> Editor:
    """Tasks to change, added by nobody that is known."""
    editor = scheduler.editor
    editor.add("x", due=HOUR, id="a")
    scheduler.become(editor.add("x", due=HOUR, id="paused"), Status.PAUSED)
    scheduler.become(editor.add("x", due=timedelta(0), id="failed"), Status.FAILED)
    return editor


@pytest.mark.parametrize("what", CHANGES)
def test_every_change_says_by_whom(scheduler: Scheduler, told: Callable[[], Told], what: str) -> None:
    # Given tasks of which nobody knows who changed them
    editor = a_queue(scheduler)
    before = {task.id: task for task in editor.list(status=list(Status)).tasks}
    told()
    # When somebody changes one
    task: Any = changes(editor.acting_as("anna"))[what]()
    # Then that is kept on it, and it is what was returned
    assert task.changed_by == "anna"
    assert editor.get(task.id) == task
    # And it is one line
    was = before.get(task.id)
    start = {"from_status": was.status, "from_rev": was.rev} if was else {}
    assert told() == [
        {
            "what": what,
            "who": "anna",
            "where": HERE,
            "id": task.id,
            "action": "x",
            **start,
            "to_status": task.status,
            "to_rev": task.rev,
        }
    ]
    # And the others are as they were
    others = {one.id: one for one in editor.list(status=list(Status)).tasks if one.id != task.id}
    assert others == {id: one for id, one in before.items() if id != task.id}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_by_nobody_known_takes_the_name_away(scheduler: Scheduler, what: str) -> None:
    # Given tasks that anna changed last
    a_queue(scheduler)
    for key, there in scheduler.store.tasks.items():
        scheduler.store.tasks[key] = task_of({**item_of(there), "changed_by": {"S": "anna"}})
    # When somebody else changes one who does not say who it is, it is not said to be anna
    task: Any = changes(scheduler.editor)[what]()
    assert task.changed_by is None


def test_many_at_once_are_a_line_each(scheduler: Scheduler, told: Callable[[], Told]) -> None:
    editor = a_queue(scheduler).acting_as("ben")
    told()
    many = [NewTask(action="x", due=HOUR, id=id) for id in ("a", "b", "c")]
    editor.add_many(many, if_exists="replace")
    found = sorted(told(), key=lambda line: str(line["id"]))
    assert [(line["id"], line["what"], line["who"]) for line in found] == [
        ("a", "replace", "ben"),
        ("b", "add", "ben"),
        ("c", "add", "ben"),
    ]
    assert {editor.get(id).changed_by for id in "abc"} == {"ben"}


def test_an_import_keeps_who_changed_what(scheduler: Scheduler, told: Callable[[], Told]) -> None:
    # Given an export of tasks that anna changed, and that nobody known did
    editor = a_queue(scheduler)
    editor.acting_as("anna").pause("a")
    exported = list(editor.export_tasks())
    # When somebody else imports it elsewhere
    other = Scheduler.start()
    told()
    other.editor.acting_as("ben").import_tasks(exported)
    # Then each task is as it was
    assert {id: other.editor.get(id).changed_by for id in ("a", "paused", "failed")} == {
        "a": "anna",
        "paused": None,
        "failed": None,
    }
    lines = told()
    assert {line["what"] for line in lines} == {"import"}
    assert {line["id"] for line in lines} == {"a", "paused", "failed"}


@pytest.mark.parametrize("odd", ["", "x" * 129, "a\nb", "a\x1b[2J", 5, b"x"])
def test_who_changes_tasks_is_a_short_printable_text(scheduler: Scheduler, odd: Any) -> None:
    with pytest.raises(InvalidTask, match="changed_by"):
        scheduler.editor.acting_as(odd)
    with pytest.raises(InvalidTask, match="changed_by"):
        Editor(backend=scheduler.backend, changed_by=odd)
    if isinstance(odd, str) and odd:
        with pytest.raises(InvalidSettings, match="DUEBELL_CHANGED_BY"):
            Settings.from_env({"DUEBELL_CHANGED_BY": odd})


def test_any_name_of_a_login_is_made_to_fit() -> None:
    assert [fit_changed_by(name) for name in (" anna\n", "a\x00b", "x" * 128, "", " ")] == [
        *("anna", "a?b", "x" * 128, None, None)
    ]
    assert fit_changed_by("x" * 129) == f"{'x' * 127}…"


def test_an_editor_says_what_it_is_given_or_what_the_settings_say() -> None:
    settings = Settings.from_env({"DUEBELL_CHANGED_BY": "shop"})
    backend = Scheduler.start(settings).backend
    assert Editor(backend=backend).changed_by == "shop"
    assert Editor(backend=backend, changed_by="anna").changed_by == "anna"
    assert Editor(backend=backend).acting_as(None).changed_by is None
    assert Settings.from_env({"DUEBELL_CHANGED_BY": ""}).changed_by is None


@pytest.fixture(params=["memory", "DynamoDB"])
def kept(request: pytest.FixtureRequest, session: boto3.Session, clock: Clock) -> Editor:
    """An editor whose changes the table keeps for sixty days."""
    settings = Settings(audit=AuditTo.TABLE, audit_retention=timedelta(days=60))
    if request.param == "memory":
        there = Scheduler.start().backend
        return Editor(backend=replace(there, settings=settings, clock=clock, sleep=clock.sleep))
    return Editor(backend=Backend.connect(settings, session, clock=clock, sleep=clock.sleep))


def test_the_table_keeps_each_change_and_lists_them_the_latest_first(kept: Editor, clock: Clock) -> None:
    editor = kept.acting_as("anna")
    # When somebody adds tasks, changes one from elsewhere, and does what concerns no task
    editor.add_many([NewTask(action="x", due=HOUR, id=f"t{n}") for n in range(30)])
    clock.now += HOUR / 2
    with from_place("http from 10.0.0.9"):
        editor.change_many("pause", [f"t{n}" for n in range(10)])
    editor.ensure_armed()
    # Then each is there, over pages
    first = editor.changes(limit=1)
    assert [(one.what, one.who, one.id) for one in first.changes] == [("repair", "anna", None)]
    rest = editor.changes(limit=40, cursor=first.cursor)
    assert rest.cursor is None
    assert [one.what for one in rest.changes] == ["pause"] * 10 + ["add"] * 30
    assert {one.where for one in rest.changes[:10]} == {"http from 10.0.0.9"}
    # And those of one task
    pause, add = editor.changes(id="t3").changes
    assert (pause.at, pause.from_rev) == (clock.now, 1)
    assert (pause.from_status, pause.to_status) == ("scheduled", "paused")
    assert (add.what, add.from_status, add.to_rev, add.action) == ("add", None, 1, "x")
    # And they go by a retention of their own, also over months
    clock.now += timedelta(days=45)
    assert len(editor.changes(limit=1_000).changes) == 41
    clock.now += timedelta(days=16)
    assert not editor.changes().changes


def test_nothing_is_kept_or_read_when_it_is_off(editor: Editor, calls: Calls) -> None:
    editor.add("x", due=HOUR, id="a")
    calls.clear()
    editor.add("x", due=HOUR, id="b")
    assert calls["PutItem"] == 1
    with pytest.raises(InvalidQuery, match="DUEBELL_AUDIT=table"):
        editor.changes()


def test_a_change_holds_that_cannot_be_noted(kept: Editor, caplog: pytest.LogCaptureFixture) -> None:
    with patch.object(kept.queue.store, "note", side_effect=DuebellError("no")):
        kept.add("x", due=HOUR, id="a")
    assert kept.get("a").rev == 1
    assert "could not be noted in the table" in caplog.text


@pytest.mark.parametrize("cursor", ["", "changes 2026-11", "changes 2026-11/x", "task/1"])
def test_a_cursor_of_something_else_is_refused(kept: Editor, cursor: str) -> None:
    with pytest.raises(InvalidQuery, match="cursor"):
        kept.changes(cursor=cursor)
