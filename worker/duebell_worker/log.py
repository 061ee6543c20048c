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
from enum import Enum
from functools import cache
from logging import ERROR, INFO, WARNING
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


class LogLine(Enum):
    """The lines of the worker's log. A name in lower case is the `event` of its line.

    level  the usual level
    means  its meaning
    """

    CALENDAR_MISSING = (
        WARNING,
        "The calendar of a recurring task is not there, so the task runs on holidays, too",
    )
    CALENDAR_NOT_READ = WARNING, "A calendar could not be read, so the task is given back and tried again"
    FOLLOW_UP_ADDED = INFO, "A task has ended, and its follow-up was added"
    FOLLOW_UP_NOT_ADDED = ERROR, "A follow-up could not be added. Each run tries again"
    FOLLOW_UP_REFUSED = ERROR, "A follow-up cannot be added, for good"
    HEALTH_SERVED = INFO, "A process answers health checks at this host and port"
    LANE_TROUBLE = WARNING, "A call for a lane failed. At level ERROR, the lane rests"
    LEASE_LOST = WARNING, "The run was so slow that another run took its lanes over"
    LIMITS_NOT_READ = WARNING, "The limits of actions could not be read. The last ones that were read hold"
    LOOK_FAILED = ERROR, "A process could not read the arming record. It tries again"
    METRICS = INFO, "The metrics for CloudWatch"
    NOT_ARMED = ERROR, "The rule could not be set. Tasks run, and the rule is set later"
    NOT_CLAIMED = ERROR, "A task could not be claimed. It is tried again"
    NOT_IN_SNAPSHOT = (
        WARNING,
        "The worker could not be prepared in the snapshot of SnapStart, so its start takes longer",
    )
    NOT_LIMITED = WARNING, "The state of an action's limit could not be read or written. It is tried again"
    NOT_RENEWED = WARNING, "The lease could not be renewed. The run tries again"
    NOT_SHARED = WARNING, "Lanes could not be handed to further runs"
    NOT_WATCHED = WARNING, "The arming record could not be read during a run. The run tries again"
    PASSED_OVER = (
        WARNING,
        "A task of a dead run cannot be claimed by this version, and is tried again every five minutes",
    )
    PLACES_LOST = (
        ERROR,
        "Attempts that go on after their time-out keep half of the places of a process, so the process ends",
    )
    PROCESS_STARTED = INFO, "A process starts"
    PROCESS_DRAINS = INFO, "A process starts no more tasks, and waits for those under way"
    PROCESS_ENDED = INFO, "A process ends"
    RESERVATION_DROPPED = INFO, "The reservation of a task was not confirmed in time, so the task is not run"
    RESULT_NOT_KEPT = WARNING, "The result of an action is too large, or has no JSON form"
    RUN = INFO, "A run has ended, with its counts and its lateness"
    RUN_DIED = ERROR, "A run died, and this one takes its lanes over"
    RUN_FAILED = ERROR, "AWS was unavailable. The run is tried again"
    SCHEMA_LEFT_OUT = WARNING, "The payload of an action has no JSON schema, so clients do not check it"
    SHARED = INFO, "A run handed lanes to further runs"
    TASK = INFO, "An attempt has ended. At level WARNING, its task failed for good"
    TIMED_OUT = WARNING, "An attempt took longer than its time-out"
    UNREADABLE = (
        ERROR,
        "This version cannot read an item. It is tried again every five minutes, by the version that then "
        "runs",
    )
    UNRECORDED = ERROR, "A task's outcome could not be written. Its action may be called once more"
    WAITS_FOR_LEASE = (
        WARNING,
        "Another try of the same invocation holds lanes, and this one waits for the end of its lease",
    )
    WORKER_DID_NOT_START = ERROR, "The worker's code could not be imported"
    WORKER_NOT_REGISTERED = WARNING, "The worker could not make itself known to clients"

    def __init__(self, level: int, means: str) -> None:
        self.level, self.means = level, means


def emit(line: LogLine, *, level: int | None = None, **fields: Any) -> None:
    """Log a line, at its usual level or the one given. Fields that are None are left out."""
    log_lines.log_event(_LOGGER, line.name.lower(), level=level or line.level, **fields)


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
