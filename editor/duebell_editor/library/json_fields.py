"""Tasks, previews and the status as JSON objects, the same on the command line and in the API."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import msgspec

from duebell_editor.status.health import SchedulerStatus
from duebell_shared.instants import MILLISECOND
from duebell_shared.schedules.schedule import Schedule
from duebell_shared.tasks.recurrence import Recurrence
from duebell_shared.tasks.task import Task, starts_by

#: The number of future occurrences that a recurring task shows.
_UPCOMING = 5

#: Fields of a task that are internal, or that `payload`, `result` and the history show.
HIDDEN = ("payload_json", "result_json", "events", "begun", "counted", "reservation", "intake")

#: A value of the library as JSON's own types, except times and lengths of time.
plain_values = partial(msgspec.to_builtins, builtin_types=(datetime, timedelta))


def task_fields(task: Task) -> dict[str, Any]:
    """A task with its payload as a value, the verbs that apply to it, and its schedule in words."""
    fields: dict[str, Any] = {
        **{name: value for name, value in plain_values(task).items() if name not in HIDDEN},
        "payload": task.payload,
        "result": task.result,
        "starts_by": task.starts_by,
        "can": list(task.can),
    }
    if task.members:
        fields["members"] = msgspec.structs.asdict(task.members)
    if task.then:
        del fields["then"]["payload_json"]
        fields["then"]["payload"] = task.then.payload
    if task.recurrence:
        words = task.recurrence.schedule.describe()
        fields["recurrence"] |= {"words": words, "upcoming": _upcoming(task.recurrence)}
    return fields


def preview_fields(
    schedule: Schedule, occurrences: Sequence[datetime], on_holidays: Sequence[object]
) -> dict[str, Any]:
    """The answer of `Editor.preview` as JSON."""
    return {
        "words": schedule.describe(),
        "occurrences": occurrences,
        "starts_by": list(map(starts_by, occurrences)),
        "on_holidays": plain_values(on_holidays),
    }


def status_fields(status: SchedulerStatus) -> dict[str, Any]:
    """The status, and whether all is well."""
    return {**plain_values(status), "healthy": status.healthy, "verdict": status.verdict}


def _upcoming(recurrence: Recurrence) -> list[datetime]:
    if recurrence.next_due is None:
        return []
    left = recurrence.runs_left
    most = _UPCOMING if left is None else min(_UPCOMING, left)
    return recurrence.schedule.preview(most, recurrence.next_due - MILLISECOND)
