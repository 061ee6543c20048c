"""The worker's log: one JSON object a line, with a stable `event`. Payloads are never logged.

Lambda's runtime writes the lines that the user's actions log with `logging`, in the function's format:
Text or JSON. Without that runtime, as on the embedded stack, this module writes them in JSON.
"""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from duebell_shared import log_lines
from duebell_shared.tasks.task import Task

_OURS = logging.getLogger("duebell")
_LOGGER = logging.getLogger("duebell.worker")

#: Lambda sets it to the level that a function in JSON format has been given.
_LEVEL = "AWS_LAMBDA_LOG_LEVEL"


class _Invocation:
    """The id of the request that this process serves. Lambda gives a process one request at a time."""

    request: str | None = None


def emit(event: str, *, level: int = logging.INFO, **fields: Any) -> None:
    """Log an event with its fields; those that are None are left out."""
    log_lines.log_event(_LOGGER, event, level=level, **fields)


@contextmanager
def invocation(request: str | None) -> Iterator[None]:
    """Have each line that is logged inside, in any thread, carry the id of this request."""
    _Invocation.request = request
    try:
        yield
    finally:
        # None, and not the id before: one of two overlapping runs would leave its id for good.
        _Invocation.request = None


#: The task whose action is called, in its thread and in its coroutines.
_ATTEMPT: ContextVar[Task | None] = ContextVar("duebell_attempt", default=None)


@contextmanager
def attempt_of(task: Task) -> Iterator[None]:
    """Give each record that is logged inside the attributes OF_ATTEMPT.

    A record factory adds them, so that every handler and format has them. Lambda's JSON format writes them.
    """
    _mark_records()
    token = _ATTEMPT.set(task)
    try:
        yield
    finally:
        _ATTEMPT.reset(token)


@cache
def _mark_records() -> None:
    make = logging.getLogRecordFactory()

    def make_marked(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = make(*args, **kwargs)
        if task := _ATTEMPT.get():
            vars(record).update(zip(log_lines.OF_ATTEMPT, (task.id, task.action, task.attempt), strict=True))
        return record

    logging.setLogRecordFactory(make_marked)


def to_stdout() -> None:
    """Write the log to standard output, where Lambda picks it up. Only the owner of the process calls this.

    Other loggers write from INFO on, unless Lambda was given a level, or the user's code sets one. The SDK
    writes warnings only.
    """
    log_lines.to_stdout(_OURS)
    _OURS.setLevel(logging.WARNING)
    _LOGGER.setLevel(logging.INFO)
    _OURS.handlers[0].addFilter(_with_request)
    logging.getLogger("botocore").setLevel(logging.WARNING)
    root = logging.getLogger()
    if not os.environ.get(_LEVEL):
        root.setLevel(logging.INFO)
    if not root.handlers:
        handler = logging.StreamHandler(sys.stdout)
        handler.setFormatter(log_lines.JsonLines())
        handler.addFilter(_with_request)
        root.addHandler(handler)


def _with_request(record: logging.LogRecord) -> bool:
    record.aws_request_id = _Invocation.request
    return True
