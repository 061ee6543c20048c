"""Export of a whole queue as JSON lines, one task each, and import, which can be repeated."""

import itertools
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from duebell_shared.errors import AddFailure, InvalidTask
from duebell_shared.instants import in_utc, to_json
from duebell_shared.payloads import payload as payloads
from duebell_shared.payloads.payload import read_json
from duebell_shared.queue.items import check_size
from duebell_shared.queue.places import Past, PastKey
from duebell_shared.queue.task_queue import Queue
from duebell_shared.quoting import in_brief, shortened
from duebell_shared.schedules.schedule import MAX_EXPRESSION
from duebell_shared.tasks.checks import check_changed_by, check_due, check_name
from duebell_shared.tasks.fields import FIELDS, STORED, checked
from duebell_shared.tasks.follow_up import Owed
from duebell_shared.tasks.history import (
    MAX_FAILURES,
    MAX_PACKED_FAILURES,
    bounded,
    bounded_events,
    bounded_occurrences,
    in_a_line,
)
from duebell_shared.tasks.recurrence import MAX_PENDING, Recurrence
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import Task

#: The field of errors about the line as a whole.
_WHOLE = "line"

#: Statuses of tasks that have `finished_at` and `expires_at`.
_ENDED = frozenset({Status.CANCELLED, Status.DONE, Status.EXPIRED, Status.FAILED})


def read_line(number: int, line: bytes | str) -> Task | None:
    """The task of a line, ready to be inserted; None for an empty line.

    A task that was running becomes scheduled, and the interrupted attempt does not count.
    Raises InvalidTask, naming the line and the field.
    """
    try:
        if (task := _decoded(line)) is None:
            return None
        _check_what(task)
        _check_when(task)
        if task.recurrence:
            _check_recurrence(task.recurrence)
        return check_size(replace(_as_it_goes_on(task), lane=0, rev=1))
    except InvalidTask as error:
        why = error.reason if error.field == _WHOLE else str(error)
        raise InvalidTask(f"line {number}", f"is no task that was exported: {why}") from None


def _decoded(line: bytes | str) -> Task | None:
    """The line as a task with all times in UTC; None if it is empty. Raises InvalidTask for anything else."""
    if not isinstance(line, bytes | str):
        raise InvalidTask(_WHOLE, f"must be text or bytes, not {type(line).__name__}")
    if not line.strip():
        return None
    try:
        given = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        if unknown := given.keys() - set(Task.__struct_fields__):
            raise InvalidTask(shortened(min(unknown)), "is not a field of a task")
        task = msgspec.json.decode(line, type=Task)
        read_json(line)
    except RecursionError:
        raise InvalidTask(_WHOLE, "is nested too deeply") from None
    except ValueError as error:  # msgspec's errors are ValueErrors
        raise InvalidTask(_WHOLE, in_brief(error)) from None
    in_zone: dict[str, Any] = {}
    for field in Task.__struct_fields__:
        try:
            in_zone[field] = in_utc(getattr(task, field))
        except OverflowError:
            raise InvalidTask(field, "has a time beyond the ends of the calendar") from None
    return replace(task, **in_zone)


def _check_what(task: Task) -> None:
    """Raise InvalidTask for names, a payload or options that `add` refuses, and for what is not exported."""
    if task.status is Status.RESERVED:
        raise InvalidTask("status", "is reserved: such a task is not exported, add it anew")
    check_name("id", task.id)
    for name, attribute in STORED.items():
        value = getattr(task, attribute)
        if name != "payload" and value != FIELDS[name].default:
            checked(name, value)
    payloads.check_text(task.payload_json)
    if task.then:
        payloads.check_text(task.then.payload_json)
    if task.result_json is not None:
        payloads.check_text(task.result_json)
    task.check_fields()
    if task.run is not None:
        check_name("run", task.run)
    check_changed_by(task.changed_by)
    if task.owes and task.owes.action:
        check_name("owes.action", task.owes.action)
    if task.occurrences and task.recurrence is None:
        raise InvalidTask("occurrences", "needs a recurrence, and there is none")


def _check_when(task: Task) -> None:
    """Raise InvalidTask for a time that no rule can ring at, or one that the status forbids or needs."""
    for field, instant in _ring_times(task):
        try:
            check_due(instant, instant)
        except InvalidTask as error:
            raise InvalidTask(field, error.reason) from None
    is_over = task.status in _ENDED and not task.owes
    waits = task.owes is not None or task.status in {Status.SCHEDULED, Status.RUNNING}
    for field, is_due in (("queued", waits), ("finished_at", is_over), ("expires_at", is_over)):
        if task.owes and field == "finished_at":
            continue  # a task that recurs has none
        if is_due and getattr(task, field) is None:
            raise InvalidTask(field, f"is missing: the task is {task.status}")
        if not is_due and getattr(task, field) is not None:
            raise InvalidTask(field, f"must be missing: the task is {task.status}")
    if task.owes:
        _check_owes(task, task.owes)


def _check_owes(task: Task, owed: Owed) -> None:
    """Raise InvalidTask unless the task has ended so, and goes on as it says once it has its follow-up."""
    if task.status not in ({Status.DONE, Status.FAILED} if owed.action else _ENDED):
        raise InvalidTask("owes", f"needs a task that is done or has failed: it is {task.status}")
    if owed.queued is not None and task.recurrence is None:
        raise InvalidTask("owes.queued", "needs a recurrence, and there is none")
    if owed.queued is None and owed.expires_at is None:
        raise InvalidTask("owes.expires_at", f"is missing: the task is {task.status}")


def _ring_times(task: Task) -> Iterator[tuple[str, datetime]]:
    """The times at which the task may be looked at, by their fields."""
    parts: dict[str, object] = {"": task, "owes.": task.owes, "recurrence.": task.recurrence}
    pending = task.recurrence.pending if task.recurrence else ()
    parts |= {f"recurrence.pending[{place}].": one for place, one in enumerate(pending)}
    for prefix, part in parts.items():
        for name in ("due", "queued", "limited_since", "at", "next_due"):
            if at := getattr(part, name, None):
                yield f"{prefix}{name}", at


def _check_recurrence(recurrence: Recurrence) -> None:
    schedule = recurrence.schedule
    if len(schedule.expression) > MAX_EXPRESSION:
        raise InvalidTask(
            "schedule", f"must be at most {MAX_EXPRESSION:,} characters, not {len(schedule.expression):,}"
        )
    schedule.check()
    checked("max_runs", recurrence.max_runs)
    if len(recurrence.pending) > MAX_PENDING:
        raise InvalidTask(
            "recurrence.pending", f"must be {MAX_PENDING} at most, not {len(recurrence.pending):,}"
        )


def _as_it_goes_on(task: Task) -> Task:
    """The task as it goes on in this queue.

    Another version may have kept more history, which is cut. Nobody here knows the result of an attempt that
    was running, so it does not count. A task that waits for its action's limit may be parked up to a day
    ahead. This queue has other limits, so the task is put back to its time before that.
    """
    task = replace(
        task,
        failure=bounded(task.failure) if task.failure else None,
        failures=bounded_events(task.failures[-MAX_FAILURES:], MAX_PACKED_FAILURES),
        occurrences=bounded_occurrences(task.occurrences),
        events=bounded_events(task.events),
        follow_up_error=in_a_line(task.follow_up_error) if task.follow_up_error else None,
        result_json=None if task.failure else task.result_json,
        result_error=in_a_line(task.result_error) if task.result_error else None,
    )
    if task.status is Status.RUNNING:
        task = replace(task, status=Status.SCHEDULED, attempt=max(task.attempt - 1, 0), begun=None)
    if task.limited_since is not None:
        queued = min(task.queued, task.limited_since) if task.queued else None
        task = replace(task, queued=queued, limited_since=None)
    return task


#: The kinds of tasks outside the queue that are exported.
_PAST = tuple(kind for kind in Past if kind.has_time)

#: Tasks that are read and written at a time.
_CHUNK = 1_000


class ImportReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an import: the numbers of tasks written and of ids that existed, and the failures."""

    written: int
    there: int
    failures: tuple[AddFailure, ...] = ()


def export_tasks(queue: Queue) -> Iterator[bytes]:
    """Each task as one line of JSON, read as it is consumed; history that has expired is left out.

    Reserved tasks are left out as well: their transactions cannot confirm them in another queue.
    A task that changes meanwhile may be exported as it was, as it is, or both; one that ends may be missed.
    For an exact copy, stop editors and the rule.
    """
    for lane in range(queue.lanes_now()):
        queued, past = queue.store.queued(lane), (queue.store.past(lane, kind) for kind in _PAST)
        for key, task in queue.tasks_at(itertools.chain(queued, *past)):
            is_twice = isinstance(key, PastKey) and task.owes is not None  # it is in the queue as well
            if task.status is not Status.RESERVED and not is_twice:
                yield to_json(task).encode()


def read_chunks(lines: Iterable[bytes | str]) -> Iterator[list[Task]]:
    """The tasks of these lines, in chunks. Raises InvalidTask at a wrong line, after the tasks before it."""
    if isinstance(lines, str | bytes) or not isinstance(lines, Iterable):
        raise InvalidTask("lines", f"must be lines, such as an open file, not {type(lines).__name__}")
    chunk: list[Task] = []
    try:
        for number, line in enumerate(lines, start=1):
            if (task := read_line(number, line)) is not None:
                chunk.append(task)
            if len(chunk) == _CHUNK:
                yield chunk
                chunk = []
    except InvalidTask:
        yield chunk
        raise
    yield chunk
