"""The limits of an item: 400 KB by itself, and in a full lane no more than it had before.

An item is 400 KB at most, and so is an item together with its entry in a local index. So an add reserves
space for the outcomes. A lane of 10 GB takes no write that makes an item larger. An outcome that is not
stored makes the task run again, so in such a lane it is stored without the parts that only inform.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from duebell_shared.errors import InvalidTask
from duebell_shared.tasks.failure import Failure
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
    "expires_at",
    "failure",
    "failures",
    "finished_at",
    "follow_up_error",
    "intake",
    "lateness_ms",
    "limited_since",
    "occurrences",
    "owes",
    "past",
    "run",
    "snoozes",
    "started_at",
)

#: Bytes that are reserved for those, and for the occurrences that wait aside.
_RESERVED = 42 * 1024

#: Characters of a payload that certainly fits, at four bytes each: for most payloads nothing is added up.
_SMALL = 64 * 1024

#: Characters of a failure's type and message that the first leaner form keeps.
_TYPE, _MESSAGE = 40, 100


def check_size(task: Task) -> Task:
    """The task, if all its outcomes will fit into its item. Raises InvalidTask.

    Claims and outcomes can then always be written, however often it fails, and with whatever error.
    """
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


def size_of(item: Item) -> int:
    """The size of an item as DynamoDB counts it: names and values, and the keys once more in the index."""
    return _bytes_of(item, item) + _bytes_of(item, _KEYS) + _INDEX_ENTRY


def leaner_forms(old: Task, new: Task) -> Iterator[Task]:
    """Forms of the outcome `new` of the task `old`, each shorter than the one before; none if it is none.

    The first keeps 100 characters of the failure, the second no part that only informs. The last one drops
    the follow-up: without the outcome, the task would run again.
    """
    is_outcome = old.status is Status.RUNNING is not new.status or new.status.is_finished
    if not is_outcome or (old.owes and new.owes):  # that is a note on a try to add the follow-up
        return
    failure = new.failure and Failure(type=new.failure.type[:_TYPE], message=new.failure.message[:_MESSAGE])
    yield replace(new, failure=failure, failures=(), occurrences=old.occurrences)
    bare = replace(
        new, failure=None, failures=(), occurrences=(), started_at=None, run=None, lateness_ms=None
    )
    yield bare
    if new.owes:
        yield replace(bare.follow_up_settled("its lane is full"), rev=new.rev)


def _bytes_of(item: Item, names: Iterable[str]) -> int:
    """The size in bytes of the item's attributes of these names; missing ones count nothing.

    As DynamoDB counts: names and text by their bytes in UTF-8; a number by a byte for each two significant
    digits, one more, and one for its sign.
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
    """
    return sum(len(name.encode()) + _width_of(item[name]) for name in names if name in item)


def _width_of(value: Mapping[str, Any]) -> int:
    """The size of an attribute's value without its name: text, bytes, a number or a flag."""
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
