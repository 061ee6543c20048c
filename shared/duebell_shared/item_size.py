"""How large a task's item is, and that what comes of the task will fit into it.

An item is 400 KB at most, and so is an item together with its entry in a local index.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html
"""

from .attribute_size import bytes_of
from .errors import InvalidTask
from .item_update import Item
from .items import item_of
from .task import Task

__all__ = ["MAX_ITEM", "bytes_in_lane", "check_size", "size_of"]

MAX_ITEM = 400 * 1024

#: What DynamoDB adds to an entry of an index, at most.
_INDEX_ENTRY = 100

_KEYS = ("lane", "id", "queued")

#: What runs write: of the last attempt, of those that failed, of the occurrences. And who changed the task
#: last, which is written when it is paused or moved.
_WRITTEN_BY_RUNS = (
    "begun",
    "changed_by",
    "expires_at",
    "failure",
    "failures",
    "finished_at",
    "lateness_ms",
    "occurrences",
    "past",
    "room",
    "run",
    "started_at",
)

#: Bytes that are kept free for that, and for the occurrences that wait aside.
_ROOM = 42 * 1024

#: Characters of a payload that fits for certain, at four bytes each: most are not longer, and need no sum.
_SMALL = 64 * 1024


def check_size(task: Task) -> Task:
    """The task, if what comes of it will fit into its item. Raises InvalidTask.

    Then claims and outcomes can always be written, however often it fails, and whatever it fails with.
    """
    has_past = task.failure or task.failures or task.occurrences
    if len(task.payload_json) <= _SMALL and not has_past:
        return task
    item = item_of(task)
    written = bytes_of(item, _WRITTEN_BY_RUNS)
    size = size_of(item) - written + max(written, _ROOM)
    if size > MAX_ITEM:
        raise InvalidTask(
            "payload",
            f"makes the task larger than an item of DynamoDB may be, by {size - MAX_ITEM:,} bytes: keep the "
            f"data elsewhere, in S3 for example, and put its key here",
        )
    return task


def size_of(item: Item) -> int:
    """The size of an item as DynamoDB counts it: names and values, and the keys once more in the index."""
    return bytes_of(item, item) + bytes_of(item, _KEYS) + _INDEX_ENTRY


def bytes_in_lane(item: Item) -> int:
    """The part of an item, and of its entry in the local index, of the 10 GB of its lane."""
    return size_of(item) if "queued" in item else bytes_of(item, item)
