"""The limits of an item: 400 KB, its entry in a local index included, and in a full lane what it had before.

So an add reserves space for the outcomes, and a full lane stores an outcome without the parts that only
inform: if it were not stored, the task would run again.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from duebell_shared.errors import InvalidTask
from duebell_shared.tasks.failure import Failure
from duebell_shared.tasks.history import MAX_PACKED_EVENTS, bounded_events
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import Task

from .items import Item, item_of

MAX_ITEM = 400 * 1024

#: Bytes that DynamoDB adds to an entry of an index, at most.
_INDEX_ENTRY = 100

_KEYS = ("lane", "id", "queued")

#: The attributes that runs write: of the last attempt, of the failed ones, of the occurrences. And the name
#: of the last editor and the mark of its message, which are written when the task is paused or moved.
_WRITTEN_BY_RUNS = (
    "begun",
    "changed_by",
    "events",
    "expires_at",
    "failure",
    "failures",
    "finished_at",
    "follow_up_error",
    "intake",
    "lateness",
    "lateness_ms",
    "limited_since",
    "occurrences",
    "owes",
    "past",
    "result",
    "result_error",
    "run",
    "snoozes",
    "started_at",
)

#: Bytes that are reserved for those, and for pending occurrences.
_RESERVED = 42 * 1024

#: Characters of a payload that certainly fits, at four bytes each: for most payloads nothing is added up.
_SMALL = 64 * 1024

#: Bytes of a write unit; and those that the first attempt and later ones add to an item, about.
_UNIT, _FIRST_ATTEMPT, _NEXT_ATTEMPT = 1024, 200, 80

#: Why an outcome lacks its follow-up or its result.
_NO_ROOM = "its lane is full"

#: Characters of a failure's type and message that the first leaner form keeps.
_TYPE, _MESSAGE = 40, 100


def check_size(task: Task) -> Task:
    """The task, if all its outcomes will fit into its item, however often it fails. Raises InvalidTask."""
    has_past = task.failure or task.failures or task.occurrences
    if len(task.payload_json) <= _SMALL and not has_past:
        return task
    item = item_of(task)
    written = _bytes_of(item, _WRITTEN_BY_RUNS)
    size = size_of(item) - written + max(written, _RESERVED)
    if size > MAX_ITEM:
        raise InvalidTask(
            "payload",
            f"makes the task larger than an item of DynamoDB may be, by {size - MAX_ITEM:,} bytes: keep the "
            f"data elsewhere, in S3 for example, and put its key here",
        )
    return task


def with_fitting_events(task: Task) -> Task:
    """The task with as many of its events as take no write unit more, now and with its next attempt."""
    if not task.events:
        return task
    item = item_of(replace(task, events=()))
    left = -_bytes_of(item, item) % _UNIT - len("events")
    room = left if task.status.is_finished else left - (_NEXT_ATTEMPT if task.run else _FIRST_ATTEMPT)
    return replace(task, events=bounded_events(task.events, max(0, min(room, MAX_PACKED_EVENTS))))


def size_of(item: Item) -> int:
    """The size of an item as DynamoDB counts it: names and values, and the keys once more in the index."""
    return _bytes_of(item, item) + _bytes_of(item, _KEYS) + _INDEX_ENTRY


def leaner_forms(old: Task, new: Task) -> Iterator[Task]:
    """Forms of the outcome `new` of the task `old`, each shorter than the one before; none if it is none.

    The first keeps 100 characters of the failure and no result, the second nothing that only informs, the
    last no follow-up.
    """
    is_outcome = old.status is Status.RUNNING is not new.status or new.status.is_finished
    if not is_outcome or (old.owes and new.owes):  # that is a note on a try to add the follow-up
        return
    failure = new.failure and Failure(type=new.failure.type[:_TYPE], message=new.failure.message[:_MESSAGE])
    error = _NO_ROOM if new.result_json else new.result_error
    new = replace(new, result_json=None, result_error=error)
    yield replace(new, failure=failure, failures=(), occurrences=old.occurrences, events=())
    times = {"started_at": None, "lateness_ms": None, "lateness": None}
    nothing: Any = {"failure": None, "failures": (), "occurrences": (), "events": (), "run": None}
    bare = replace(new, result_error=None, **nothing, **times)
    yield bare
    if new.owes:
        yield replace(bare.follow_up_settled(_NO_ROOM), rev=new.rev)


def _bytes_of(item: Item, names: Iterable[str]) -> int:
    """The size in bytes of these attributes as DynamoDB counts it.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
    """
    return sum(len(name.encode()) + _width_of(item[name]) for name in names if name in item)


def _width_of(value: Mapping[str, Any]) -> int:
    [(kind, content)] = value.items()
    match kind:
        case "S":
            return len(str(content).encode())
        case "B":
            return len(bytes(content))
        case "N":
            number = str(content)
            digits = number.lstrip("-").replace(".", "").strip("0")
            return -(-len(digits) // 2) + 1 + number.startswith("-")
        case _:
            return 1
