"""Shared by the tests of the status: the one problem there is, and a task that the record does not know."""

from datetime import UTC, datetime, timedelta

import msgspec

from duebell import Editor, Problem, ProblemKind
from duebell_shared.backend import Backend
from duebell_shared.tasks.new_task import new_task
from tests.support import NOON

__all__ = ["DUE", "MINUTE", "problem", "write"]

DUE = datetime(2026, 12, 31, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def problem(editor: Editor, kind: ProblemKind, *, thorough: bool = False) -> Problem:
    """The one problem there is, which is of this kind."""
    status = editor.status(thorough=thorough)
    assert [each.kind for each in status.problems] == [kind]
    assert not status.healthy
    [found] = status.problems
    assert str(found) == f"{found.what}: {found.way_out}"
    return found


def write(backend: Backend, due: datetime, *, lane: int = 0) -> None:
    """A task written behind the editor's back, of which the record does not know."""
    task = msgspec.structs.replace(
        new_task(id="one", action="act", due=due, payload=None, now=NOON), lane=lane
    )
    assert backend.store.insert(task)
