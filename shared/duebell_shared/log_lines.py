"""Structured log lines: one JSON object a line, with a stable `event`. Payloads are never logged.

The names `timestamp`, `level` and `requestId` are Lambda's: it filters lines by their level if they have a
time in this form. https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-logformat.html
"""

import json
import logging
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from duebell_shared.instants import render
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import Task

_LOG = logging.getLogger("duebell.editor")

_T = TypeVar("_T")

#: What records that an action logs have beside.
_OF_ATTEMPT = ("duebell_task", "duebell_action", "duebell_attempt")


def added_as(task: Task) -> str:
    """The verb of a new task for its log line."""
    return "reserve" if task.status is Status.RESERVED else "add"


def log_change(what: str, before: Task | None, after: Task) -> None:
    """Log a stored change, with its author; `what` is its verb, and `before` None for a new task."""
    log_event(
        _LOG,
        "changed",
        id=after.id,
        what=what,
        from_status=before and before.status,
        from_rev=before and before.rev,
        to_status=after.status,
        to_rev=after.rev,
        changed_by=after.changed_by,
    )


def logged(what: str, insert: Callable[[Sequence[Task]], list[_T]]) -> Callable[[Sequence[Task]], list[_T]]:
    """Wrap `insert`, so that each task it stores is logged."""

    def insert_and_log(tasks: Sequence[Task]) -> list[_T]:
        inserted = insert(tasks)
        for task, result in zip(tasks, inserted, strict=True):
            if result is True:
                log_change(what, None, task)
        return inserted

    return insert_and_log


def log_event(logger: logging.Logger, event: str, *, level: int = logging.INFO, **fields: Any) -> None:
    """Log an event with its fields; those that are None are left out."""
    if logger.isEnabledFor(level):
        given = {name: value for name, value in fields.items() if value is not None}
        logger.log(level, event, extra={"fields": given})


def to_stdout(*loggers: logging.Logger) -> None:
    """Write these logs, from INFO on, to standard output. Only the owner of the process calls this."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(JsonLines())
    for logger in loggers:
        logger.handlers = [handler]
        logger.setLevel(logging.INFO)
        logger.propagate = False


class JsonLines(logging.Formatter):
    """Formats a record as a JSON object: an event with its fields, or the message of anybody else."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "timestamp": render(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname,
        }
        if request := getattr(record, "aws_request_id", None):
            line["requestId"] = request
        fields = getattr(record, "fields", None)
        if fields is None:
            line |= {"message": record.getMessage(), "logger": record.name}
        else:
            line |= {"event": record.getMessage(), **fields}
        line |= {name: getattr(record, name) for name in _OF_ATTEMPT if hasattr(record, name)}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=_text)


def _text(value: object) -> str:
    return render(value) if isinstance(value, datetime) else str(value)
