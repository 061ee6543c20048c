"""The limits of an item: 400 KB by itself, and in a full lane no more than it had before.

An item is 400 KB at most, and so is an item together with its entry in a local index. So an add reserves room
for the outcomes. An outcome that cannot be written makes the task run again. So in a full lane the parts that
only inform are shortened, and no more of them than needed: the traceback first, then the failures' words and
the oldest occurrences.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from duebell_shared.errors import InvalidTask
from duebell_shared.tasks.failure import Failure
from duebell_shared.tasks.owing import paid
from duebell_shared.tasks.packed_occurrences import bounded_occurrences, pack_occurrences
from duebell_shared.tasks.recurrence import Recurrence, Result
from duebell_shared.tasks.task import Task

from .item_update import Item, ItemUpdate
from .items import changes, item_of
from .room import bytes_of, filler

__all__ = ["MAX_ITEM", "check_size", "size_of", "slim_claim", "slim_outcome"]

MAX_ITEM = 400 * 1024

#: Bytes that DynamoDB adds to an entry of an index, at most.
_INDEX_ENTRY = 100

_KEYS = ("lane", "id", "queued")

_ROOM = "room"

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
    _ROOM,
    "run",
    "snoozes",
    "started_at",
)

#: Bytes that are reserved for those, and for the occurrences that wait aside.
_RESERVED = 42 * 1024

#: Characters of a payload that certainly fits, at four bytes each: for most payloads nothing is added up.
_SMALL = 64 * 1024

#: Characters of the failure's message that are kept, from one form to the next; and of its type.
_WORDS = (3_000, 1_000, 300, 100, 30, 0)
_TYPE = 40

#: Bytes by which the occurrences are shortened, from one form to the next, when no failure is left.
_GIVEN_UP = (0, 40, 150)


def check_size(task: Task) -> Task:
    """The task, if all its outcomes will fit into its item. Raises InvalidTask.

    Claims and outcomes can then always be written, however often it fails, and with whatever error.
    """
    has_past = task.failure or task.failures or task.occurrences
    if len(task.payload_json) <= _SMALL and not has_past:
        return task
    item = item_of(task)
    written = bytes_of(item, _WRITTEN_BY_RUNS)
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
    return bytes_of(item, item) + bytes_of(item, _KEYS) + _INDEX_ENTRY


def slim_claim(stored: Item, claim: ItemUpdate) -> ItemUpdate:
    """The claim with `room` narrowed so that the item is no larger than `stored`, which must be unchanged."""
    counted = {name: {"N": str(int(stored[name]["N"]) + 1)} for name in claim.adds}
    left = _bytes_saved(stored, {**claim.sets, **counted})
    where = {**claim.where, "rev": stored["rev"]}
    return _with_room(claim._replace(where=where), left)


def slim_outcome(stored: Item, old: Task, new: Task, update: ItemUpdate) -> tuple[Task, ItemUpdate]:
    """The richest form of `new` that makes the item no larger than `stored`; else the leanest.

    `stored` is the item of `old`, as it is; `update` would make `new` of it. Returns the form and its update.
    """
    for form in _forms(old, new):
        sets, removes = changes(old, form)
        left = _bytes_saved(stored, sets, removes)
        if left >= bytes_of(sets, [_ROOM]):  # it fits with all its room
            break
    return form, _with_room(update._replace(sets=sets, removes=removes), left)


def _bytes_in_lane(item: Item) -> int:
    """The part of an item, and of its entry in the local index, of the 10 GB of its lane."""
    return size_of(item) if "queued" in item else bytes_of(item, item)


def _bytes_saved(stored: Item, sets: Item, removes: Sequence[str] = ()) -> int:
    """The bytes that the update saves, room not counted; negative if it makes the item larger."""
    after = {name: value for name, value in {**stored, **sets}.items() if name not in {_ROOM, *removes}}
    return _bytes_in_lane(stored) - _bytes_in_lane(after)


def _with_room(update: ItemUpdate, most: int) -> ItemUpdate:
    """The update with as much room as it sets, but no more than this; none if that is less than the least."""
    if _ROOM not in update.sets:
        return update
    others = {name: value for name, value in update.sets.items() if name != _ROOM}
    if most < len(_ROOM):
        return update._replace(sets=others, removes=[*update.removes, _ROOM])
    width = min(most, bytes_of(update.sets, [_ROOM]))
    return update._replace(sets={**others, **filler(width - len(_ROOM))})


def _forms(old: Task, new: Task) -> Iterator[Task]:
    """Forms of the task, each leaner than the one before."""
    before = len(pack_occurrences(old.occurrences)) if old.occurrences else 0
    past = bounded_occurrences(new.occurrences, before)
    for most in _WORDS:
        failure = new.failure and Failure(type=new.failure.type[:_TYPE], message=new.failure.message[:most])
        failures = new.failures if most == _WORDS[0] else ()
        yield replace(new, failure=failure, failures=failures, occurrences=past)
    for given_up in (*_GIVEN_UP, before):
        past = bounded_occurrences(new.occurrences, before - given_up)
        yield replace(new, failure=None, failures=(), occurrences=past)
    if new.recurrence:
        recurrence = _without_retry(old, new.recurrence)
        yield replace(new, failure=None, failures=(), occurrences=(), recurrence=recurrence)
    if new.owes:  # the outcome matters more: without it, the task would run again
        yield from _forms(old, replace(paid(new, "its lane is full"), rev=new.rev))


def _without_retry(old: Task, recurrence: Recurrence) -> Recurrence:
    """Without the occurrence that would be retried beside the next: it counts as failed, for want of room."""
    retried = next((seat for seat in recurrence.aside[::-1] if seat.due == old.due), None)
    if retried is None or old.recurrence is None or len(recurrence.aside) <= len(old.recurrence.aside):
        return recurrence
    others = tuple(seat for seat in recurrence.aside if seat is not retried)
    over = replace(recurrence, turn=retried.turn).concluded(Result.FAILED)
    return replace(over, turn=recurrence.turn, aside=others)
