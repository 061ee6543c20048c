"""The audit trail in the table: every change by an editor with who, what, when and from where."""

from collections.abc import Callable
from datetime import timedelta

import boto3
import pytest

from duebell import DuebellError, Editor, InvalidQuery, NewTask, Settings
from duebell_shared.audit import from_place
from duebell_shared.backend import Backend
from duebell_shared.settings import AuditTo
from tests.editor.memory import Scheduler
from tests.support import Calls, Clock

HOUR = timedelta(hours=1)
KEPT = Settings(audit=AuditTo.TABLE, audit_retention=timedelta(days=60))

Make = Callable[[Settings], Editor]


@pytest.fixture(params=["memory", "moto"])
def make(request: pytest.FixtureRequest, session: boto3.Session, clock: Clock) -> Make:
    """Makes editors over one queue."""
    store, rule = Scheduler.start().store, Scheduler.start().editor._backend.rule

    def make(settings: Settings) -> Editor:
        if request.param == "memory":
            return Editor(backend=Backend(settings, store, rule, clock=clock, sleep=clock.sleep))
        return Editor(backend=Backend.connect(settings, session, clock=clock, sleep=clock.sleep))

    return make


def test_the_table_keeps_each_change_and_lists_them_the_latest_first(make: Make, clock: Clock) -> None:
    editor = make(KEPT).acting_as("anna")
    # When somebody adds tasks, changes one from elsewhere, and does what concerns no task
    editor.add_many([NewTask(action="x", due=HOUR, id=f"t{n}") for n in range(30)])
    clock.now += HOUR / 2
    with from_place("http from 10.0.0.9"):
        editor.change_many("pause", [f"t{n}" for n in range(10)])
    editor.ensure_armed()
    # Then each is there, over pages
    first = editor.changes(limit=1)
    assert [(one.what, one.who, one.id) for one in first.changes] == [("repair", "anna", None)]
    rest = editor.changes(limit=1_000, cursor=first.cursor)
    assert rest.cursor is None
    assert [one.what for one in rest.changes] == ["pause"] * 10 + ["add"] * 30
    assert {one.where for one in rest.changes[:10]} == {"http from 10.0.0.9"}
    # And those of one task
    pause, add = editor.changes(id="t3").changes
    assert (pause.at, pause.from_status, pause.to_status, pause.from_rev) == (
        clock.now,
        "scheduled",
        "paused",
        1,
    )
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


def test_a_change_holds_that_cannot_be_noted(
    make: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    editor = make(KEPT)

    def refuse(*_: object, **__: object) -> None:
        raise DuebellError("no")

    monkeypatch.setattr(editor.queue.store, "note", refuse)
    editor.add("x", due=HOUR, id="a")
    assert editor.get("a").rev == 1
    assert "could not be noted in the table" in caplog.text


@pytest.mark.parametrize("cursor", ["", "changes 2026-11", "changes 2026-11/x", "task/1"])
def test_a_cursor_of_something_else_is_refused(make: Make, cursor: str) -> None:
    with pytest.raises(InvalidQuery, match="cursor"):
        make(KEPT).changes(cursor=cursor)
