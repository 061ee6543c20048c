"""The worker's log: one JSON object a line, with a stable `event`. Payloads are never logged.

Lambda's runtime writes the lines that the user's actions log with `logging`, in the function's format:
Text or JSON. Without that runtime, as on the embedded stack, this module writes them in JSON.
"""

import logging
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, TextIO, cast

from duebell_shared import log_lines
from duebell_shared.tasks.task import Task


class WholeLines:
    """A text stream that gives another one whole lines; whatever else it is asked for is the other's.

    Problem: `print` writes a text and the end of its line one after the other, so the lines of actions that
    print at the same time get mixed up. Solution: each thread's text is kept until its line ends.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._writing = threading.Lock()
        self._thread = threading.local()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write the lines that end in this text, and keep the rest for this thread's next one."""
        lines, newline, rest = (self._kept() + text).rpartition("\n")
        self._thread.kept = rest
        if newline:
            self._give(lines + newline)
        return len(text)

    def writelines(self, texts: Iterable[str]) -> None:
        """Write these texts, one after the other."""
        self.write("".join(texts))

    def flush(self) -> None:
        """Write what this thread has begun, as a program wants that shows how far it has come."""
        if kept := self._kept():
            self._thread.kept = ""
            self._give(kept)
        self._stream.flush()

    def end_line(self) -> None:
        """End the line that this thread has begun, if any: nothing more of it comes."""
        if self._kept():
            self.write("\n")

    def _kept(self) -> str:
        return getattr(self._thread, "kept", "")

    def _give(self, text: str) -> None:
        with self._writing:
            self._stream.write(text)


def keep_lines_whole() -> None:
    """Have this process write whole lines. Only the owner of the process calls this."""
    out, err = sys.stdout, sys.stderr
    sys.stdout = _whole(out)
    sys.stderr = sys.stdout if err is out else _whole(err)


def end_lines() -> None:
    """End the lines that this thread has begun, before it does something else or ends."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, WholeLines):
            stream.end_line()


def _whole(stream: TextIO) -> TextIO:
    return stream if isinstance(stream, WholeLines) else cast("TextIO", WholeLines(stream))


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
        end_lines()
        # Not the one before: of runs that overlap, one would leave its id for good.
        _Invocation.request = None


#: The task whose action is called, in its thread and in its coroutines.
_ATTEMPT: ContextVar[Task | None] = ContextVar("duebell_attempt", default=None)


@contextmanager
def attempt_of(task: Task) -> Iterator[None]:
    """Have each record that is logged inside carry `duebell_task`, `duebell_action`, `duebell_attempt`.

    Records are made by a factory, so that each handler and format of the user's has these attributes, and
    Lambda's JSON format writes them. Outside of actions records do not have them.
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
            record.duebell_task, record.duebell_action = task.id, task.action
            record.duebell_attempt = task.attempt
        return record

    logging.setLogRecordFactory(make_marked)


def to_stdout() -> None:
    """Write the log to standard output, where Lambda picks it up. Only the owner of the process calls this.

    Lines that actions print at the same time come one after the other, too.

    What others log is written from INFO on, unless Lambda was given a level, or the user's code sets one. Of
    the SDK only warnings are.
    """
    keep_lines_whole()
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
