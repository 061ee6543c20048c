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
    bounded,
    bounded_attempts,
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
        task = _out_of_line(_without_running_attempt(_with_bounded_history(task)))
        return check_size(replace(task, lane=0, rev=1))
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
    return replace(task, **{field: _in_utc(field, getattr(task, field)) for field in Task.__struct_fields__})


def _in_utc(field: str, value: Any) -> Any:
    try:
        return in_utc(value)
    except OverflowError:
        raise InvalidTask(field, "has a time beyond the ends of the calendar") from None


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
        raise InvalidTask("occurrences", "goes with a recurrence, and there is none")


def _check_when(task: Task) -> None:
    """Raise InvalidTask for a time that no rule can ring at, or one that the status forbids or needs."""
    for field, instant in _ring_times(task):
        _check_can_ring(field, instant)
    waits = task.owes is not None or task.status in {Status.SCHEDULED, Status.RUNNING}
    has_ended = task.status in _ENDED
    if task.owes:
        _check_owes(task, task.owes)
        return
    for field, is_due in (("queued", waits), ("finished_at", has_ended), ("expires_at", has_ended)):
        if is_due and getattr(task, field) is None:
            raise InvalidTask(field, f"is missing: the task is {task.status}")
        if not is_due and getattr(task, field) is not None:
            raise InvalidTask(field, f"goes without: the task is {task.status}")


def _check_owes(task: Task, owed: Owed) -> None:
    """Raise InvalidTask unless the task has ended so, and goes on as it says once it has its follow-up."""
    allowed = {Status.DONE, Status.FAILED} if owed.action else _ENDED
    if task.queued is None or task.status not in allowed:
        raise InvalidTask(
            "owes", f"goes with a task in the queue that is done or has failed: it is {task.status}"
        )
    if owed.queued is not None and task.recurrence is None:
        raise InvalidTask("owes.queued", "goes with a recurrence, and there is none")
    if owed.queued is None and owed.expires_at is None:
        raise InvalidTask("owes.expires_at", f"is missing: the task is {task.status}")
    if task.expires_at is not None:
        raise InvalidTask("expires_at", "goes without: the task owes a follow-up, and is kept until then")


def _ring_times(task: Task) -> Iterator[tuple[str, datetime]]:
    yield "due", task.due
    if task.queued is not None:
        yield "queued", task.queued
    if task.limited_since is not None:
        yield "limited_since", task.limited_since
    if task.owes is not None:
        yield "owes.at", task.owes.at
        if task.owes.queued is not None:
            yield "owes.queued", task.owes.queued
    if task.recurrence is None:
        return
    if task.recurrence.next_due is not None:
        yield "recurrence.next_due", task.recurrence.next_due
    for index, occurrence in enumerate(task.recurrence.pending):
        yield f"recurrence.pending[{index}].due", occurrence.due
        yield f"recurrence.pending[{index}].queued", occurrence.queued


def _check_can_ring(field: str, instant: datetime) -> None:
    try:
        check_due(instant, instant)
    except InvalidTask as error:
        raise InvalidTask(field, error.reason) from None


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


def _with_bounded_history(task: Task) -> Task:
    """Cut failures and occurrences to what this version keeps: another version may have kept more."""
    return replace(
        task,
        failure=bounded(task.failure) if task.failure else None,
        failures=bounded_attempts(task.failures),
        occurrences=bounded_occurrences(task.occurrences),
        events=bounded_events(task.events),
        follow_up_error=in_a_line(task.follow_up_error) if task.follow_up_error else None,
        result_json=task.result_json if task.result_fits else None,
        result_error=in_a_line(task.result_error) if task.result_error else None,
    )


def _without_running_attempt(task: Task) -> Task:
    """Make a running task scheduled. The result of its attempt is unknown here, so it does not count."""
    if task.status is not Status.RUNNING:
        return task
    return replace(task, status=Status.SCHEDULED, attempt=max(task.attempt - 1, 0), begun=None)


def _out_of_line(task: Task) -> Task:
    """Put a task that waits for its action's limit where it was before. The other queue has other limits.

    Problem: it may be parked up to a day ahead, until its action goes on, and here nobody knows of that.
    """
    if task.limited_since is None:
        return task
    queued = min(task.queued, task.limited_since) if task.queued else None
    return replace(task, queued=queued, limited_since=None)


#: The kinds of tasks outside the queue that are exported.
_PAST = tuple(kind for kind in Past if kind.has_time)

#: Tasks that are read and written at a time.
_CHUNK = 1_000


class ImportReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an import: the numbers of tasks written and of ids that existed, and the failures."""

    written: int
    there: int
    failures: tuple[AddFailure, ...] = ()

    def __add__(self, other: "ImportReport") -> "ImportReport":
        return ImportReport(
            written=self.written + other.written,
            there=self.there + other.there,
            failures=self.failures + other.failures,
        )


def export_tasks(queue: Queue) -> Iterator[bytes]:
    """Each task as one line of JSON, read as it is consumed; history that has expired is left out.

    So are reserved tasks: their transactions cannot confirm them in another queue.
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
