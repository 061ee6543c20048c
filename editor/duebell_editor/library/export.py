"""Export of a whole queue as JSON lines, one task each, and import, which can be repeated."""

import itertools
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

import msgspec
from msgspec.structs import replace

from duebell_shared.errors import AddFailure, InvalidTask, UnreadableTask
from duebell_shared.instants import in_utc, to_json
from duebell_shared.payloads import payload as payloads
from duebell_shared.payloads.payload import read_json
from duebell_shared.queue.items import check_size, item_of, task_of
from duebell_shared.queue.places import Past, PastKey
from duebell_shared.queue.task_queue import Queue
from duebell_shared.quoting import in_brief, shortened
from duebell_shared.schedules.schedule import MAX_EXPRESSION
from duebell_shared.tasks.checks import check_changed_by, check_due, check_name
from duebell_shared.tasks.fields import FIELDS, STORED, checked
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import Task

#: The field of errors about the line as a whole.
_WHOLE = "line"

#: Statuses of tasks that have `expires_at`.
_ENDED = frozenset({Status.CANCELLED, Status.DONE, Status.EXPIRED, Status.FAILED})


def read_line(number: int, line: bytes | str, calendar: Callable[[str], object]) -> Task | None:
    """The task of a line, ready to be inserted; None for an empty line.

    A task that was running becomes scheduled, and the interrupted attempt does not count.
    Raises InvalidTask, naming the line and the field.
    """
    try:
        if (task := _decoded(line)) is None:
            return None
        _check(task)
        if task.recurrence and task.recurrence.schedule.calendar and not task.has_ended:
            calendar(task.recurrence.schedule.calendar)
        stored = check_size(replace(_as_it_goes_on(task), lane=0, rev=1))
        task_of(item_of(stored))  # a task that cannot be read would never run
    except UnreadableTask as error:
        raise InvalidTask(f"line {number}", f"is no task that was exported: {error}") from None
    except InvalidTask as error:
        why = error.reason if error.field == _WHOLE else str(error)
        raise InvalidTask(f"line {number}", f"is no task that was exported: {why}") from None
    return stored


def _decoded(line: bytes | str) -> Task | None:
    """The line as a task with all times in UTC; None if it is empty. Raises InvalidTask for anything else."""
    if not isinstance(line, bytes | str):
        raise InvalidTask(_WHOLE, f"must be text or bytes, not {type(line).__name__}")
    # Some programs begin a file with a byte order mark.
    line = line.removeprefix("\ufeff") if isinstance(line, str) else line.removeprefix(BOM_UTF8)
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
    try:
        in_zone: Task = in_utc(task)
    except OverflowError:
        raise InvalidTask(_WHOLE, "has a time beyond the ends of the calendar") from None
    return in_zone


def _check(task: Task) -> None:
    """Raise InvalidTask for a task that `add` refuses, or that could not run as its fields say."""
    if task.status is Status.RESERVED:
        raise InvalidTask("status", "is reserved: such a task is not exported, add it anew")
    if task.status is Status.BLOCKED and task.members is None:
        raise InvalidTask("status", "is blocked, as only batches are, and `members` is missing")
    check_name("id", task.id)
    for name, attribute in STORED.items():
        value = getattr(task, attribute)
        if name != "payload" and value != FIELDS[name].default:
            checked(name, value)
    texts = {"payload_json": task.payload_json, "result_json": task.result_json}
    texts["then.payload_json"] = task.then.payload_json if task.then else None
    for field, text in texts.items():
        try:
            payloads.check_text(text or "null")
        except InvalidTask as error:
            raise InvalidTask(field, error.reason) from None
    task.check_fields()
    check_changed_by(task.changed_by)
    if task.recurrence:
        schedule = task.recurrence.schedule
        if len(schedule.expression) > MAX_EXPRESSION:
            raise InvalidTask(
                "schedule",
                f"must be at most {MAX_EXPRESSION:,} characters, not {len(schedule.expression):,}",
            )
        schedule.check()
        checked("max_runs", task.recurrence.max_runs)
    _check_when(task)


def _check_when(task: Task) -> None:
    """Raise InvalidTask for a time at which no rule can ring, or which does not fit the status."""
    for field, instant in _ring_times(task):
        try:
            check_due(instant, instant)
        except InvalidTask as error:
            raise InvalidTask(field, error.reason) from None
    waits = task.owes is not None or task.status in {Status.SCHEDULED, Status.RUNNING}
    is_over = task.status in _ENDED and not task.owes
    for field, is_needed in (("queued", waits), ("expires_at", is_over)):
        is_given = getattr(task, field) is not None
        if is_given != is_needed:
            raise InvalidTask(field, f"must {'' if is_needed else 'not '}be given: the task is {task.status}")


def _ring_times(task: Task) -> Iterator[tuple[str, datetime]]:
    """The times at which a run may read the task, and its creation, each with the name of its field."""
    parts: dict[str, object] = {"": task, "owes.": task.owes, "recurrence.": task.recurrence}
    pending = task.recurrence.pending if task.recurrence else ()
    parts |= {f"recurrence.pending[{place}].": one for place, one in enumerate(pending)}
    for prefix, part in parts.items():
        for name in ("due", "queued", "limited_since", "at", "next_due", "created_at"):
            if at := getattr(part, name, None):
                yield f"{prefix}{name}", at


def _as_it_goes_on(task: Task) -> Task:
    """The task as it continues in this queue.

    The result of an attempt that was running is not known here, so it does not count. A task that waits for
    its action's limit may be parked up to a day ahead. This queue has other limits, so the task gets its
    earlier time again.
    """
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
    """Yields each task as one line of JSON, and reads while you iterate. Expired history is left out.

    Reserved tasks are left out as well: their transactions cannot confirm them in another queue.
    A task that changes meanwhile may be exported as before, as after or twice. If it ends, it may be missed.
    For an exact copy, stop editors and the rule.
    """
    for lane in range(queue.lanes_now()):
        queued, past = queue.store.queued(lane), (queue.store.past(lane, kind) for kind in _PAST)
        for key, task in queue.tasks_at(itertools.chain(queued, *past)):
            is_twice = isinstance(key, PastKey) and task.owes is not None  # it is in the queue as well
            if task.status is not Status.RESERVED and not is_twice:
                yield to_json(task).encode()


def read_chunks(lines: Iterable[bytes | str], calendar: Callable[[str], object]) -> Iterator[list[Task]]:
    """The tasks of these lines, in chunks. Raises InvalidTask at a wrong line, after the tasks before it.

    calendar  returns the calendar of a name; raises InvalidSchedule
    """
    if isinstance(lines, str | bytes) or not isinstance(lines, Iterable):
        raise InvalidTask("lines", f"must be lines, such as an open file, not {type(lines).__name__}")
    chunk: list[Task] = []
    try:
        for number, line in enumerate(lines, start=1):
            if (task := read_line(number, line, calendar)) is not None:
                chunk.append(task)
            if len(chunk) == _CHUNK:
                yield chunk
                chunk = []
    except InvalidTask:
        yield chunk
        raise
    yield chunk
