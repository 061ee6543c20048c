"""The examples of docs/coming-from.md, run as they stand."""

import importlib
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType

import pytest

from duebell import Editor, Status
from duebell.testing import Rehearsal
from tests.infra.documented import ROOT, written

PAGE = ROOT / "docs" / "coming-from.md"

#: Noon on a Thursday.
NOW = datetime(2026, 11, 19, 12, tzinfo=UTC)

Load = Callable[[str], ModuleType]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Imports a module of the page."""
    written(PAGE, tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))

    def load(name: str) -> ModuleType:
        monkeypatch.delitem(sys.modules, name, raising=False)
        return importlib.import_module(name)

    return load


def next_dues(editor: Editor) -> dict[str, str]:
    """The due date of each task that waits, in UTC."""
    return {task.id: f"{task.due:%m-%d %H:%M}" for task in editor.list().tasks}


def test_celery(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    module = load("from_celery")
    with Rehearsal(module.worker, now=NOW) as rehearsal:
        rehearsal.editor.add("remind", due=timedelta(days=1), id="remind-8", payload={"user": 8})
        module.plan(rehearsal.editor)
        assert next_dues(rehearsal.editor) == {"report": "11-20 08:00", "remind-7": "11-21 12:00"}
        assert rehearsal.editor.get("remind-8").status is Status.CANCELLED
        # When it is busy, it is asked for again an hour later, twice, and then no more
        monkeypatch.setattr(module, "is_busy", lambda: True)
        rehearsal.let_time_pass(timedelta(days=2, minutes=1))
        reminder = rehearsal.editor.get("remind-7")
        assert reminder.queued
        assert (reminder.attempt, reminder.queued - rehearsal.now > timedelta(minutes=58)) == (1, True)
        rehearsal.let_time_pass(timedelta(hours=3))
        assert (rehearsal.editor.get("remind-7").status, rehearsal.editor.get("remind-7").attempt) == (
            Status.FAILED,
            3,
        )
        assert rehearsal.editor.get("report").runs == 1
