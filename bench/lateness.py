"""The lateness of tasks: in real time, with rings of the embedded stack's rule and the Lambda bundle."""

import statistics
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import msgspec

from duebell import Editor, Status
from duebell_infra.local.stack import EmbeddedStack
from duebell_shared.instants import utc_now

__all__ = ["LIMITS", "Lateness", "measure", "percentiles"]

#: By precision: how many seconds late half of all tasks may start, and 99 of 100.
LIMITS = {"minute": (60.0, 75.0), "second": (0.25, 1.0)}

_TASKS = 500

#: When the tasks are due, in seconds from when they are added: none so near that adding is part of it.
_FIRST, _LAST = 120.0, 720.0

#: The longest wait for tasks after the last due date.
_PATIENCE = timedelta(minutes=5)

_PERCENTS = (50, 90, 99)


class Lateness(msgspec.Struct, frozen=True, kw_only=True):
    """The seconds from due dates to starts, of this number of tasks."""

    what: str
    tasks: int
    mean: float
    p50: float
    p90: float
    p99: float
    worst: float


def percentiles(what: str, seconds: Sequence[float]) -> Lateness:
    """The distribution in a few figures."""
    ordered = sorted(seconds)
    at = [ordered[min(round(len(ordered) * percent / 100), len(ordered) - 1)] for percent in _PERCENTS]
    mean = statistics.fmean(ordered)
    return Lateness(
        what=what, tasks=len(ordered), mean=mean, p50=at[0], p90=at[1], p99=at[2], worst=ordered[-1]
    )


def measure(precision: str = "minute") -> Lateness:
    """Tasks at random seconds of ten minutes, run by the Lambda that the rule wakes. Takes a quarter of an
    hour."""
    with (
        tempfile.TemporaryDirectory(prefix="duebell-bench-") as state,
        EmbeddedStack(
            Path(state),
            actions="actions:worker",
            folder=Path(__file__).parent,
            parameters={"Precision": precision},
        ) as stack,
    ):
        editor = Editor(stack.settings, session=stack.session)
        random = Random(_TASKS)
        begin = utc_now()
        dues = [begin + timedelta(seconds=random.uniform(_FIRST, _LAST)) for _ in range(_TASKS)]
        editor.add_many({"action": "act", "due": due} for due in dues)
        return percentiles(f"embedded stack, precision {precision}", _wait_for(editor, max(dues) + _PATIENCE))


def _wait_for(editor: Editor, give_up: datetime) -> list[float]:
    while utc_now() < give_up:
        time.sleep(5)
        done = editor.list(status=Status.DONE, limit=1000).tasks
        if len(done) == _TASKS:
            if early := [task.id for task in done if task.started_at is None or task.started_at < task.due]:
                raise RuntimeError(f"{len(early)} tasks were started early, {early[0]} for one")
            return [(task.lateness_ms or 0) / 1000 for task in done]
    raise RuntimeError(f"not all of {_TASKS} tasks were run in time")
