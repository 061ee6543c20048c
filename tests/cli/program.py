"""The program `duebell` as tests run it: arguments in; exit status, stdout and stderr out."""

import io
import json
from typing import Any, NamedTuple, Protocol

from duebell import Editor, Status
from duebell_shared.tasks.history import Failure
from duebell_shared.tasks.status import RetentionPolicy
from duebell_shared.tasks.task import QueueKey

__all__ = ["Duebell", "Outcome", "fail", "lines"]


class Outcome(NamedTuple):
    status: int
    out: str
    err: str


class Duebell(Protocol):
    def __call__(self, *arguments: str, stdin: str | bytes | io.BytesIO = "") -> Outcome: ...


def lines(text: str) -> list[Any]:
    """The JSON documents of an output, one to a line."""
    return [json.loads(line) for line in text.splitlines()]


def fail(editor: Editor, id: str) -> None:
    """Let the task fail as a run would, with an error that plays tricks on terminals."""
    task = editor.get(id)
    assert task.queued
    claimed = editor._store.claim(
        QueueKey(task.queued, id, task.lane), run="r1", now=task.queued, status=Status.SCHEDULED
    )
    assert claimed
    failure = Failure(type="ValueError", message="\x1b[2Jgone [red]", traceback="line 1\nline 2\n")
    retention = editor._backend.settings.retention
    assert editor._store.save(
        claimed, claimed.failed(failure, now=task.queued, keep=RetentionPolicy(retention=retention))
    )
