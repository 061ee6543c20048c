"""The change of a task in a form that makes its item no larger: for a lane that holds all that it may. Pure.

What comes of a task must be written, or the task runs again. So what only tells of the past gives way, and
no more of it than must: the traceback first, then the failures' words and the oldest occurrences.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from .attribute_size import bytes_of
from .failure import Failure
from .item_size import bytes_in_lane
from .item_update import Item, ItemUpdate
from .items import changes
from .packed_occurrences import bounded_occurrences, pack_occurrences
from .recurrence import Recurrence, Result
from .room import ROOM, filler
from .task import Task

__all__ = ["slim_claim", "slim_outcome"]

#: Characters of the failure's message that are kept, from one form to the next; and of its type.
_WORDS = (3_000, 1_000, 300, 100, 30, 0)
_TYPE = 40

#: Bytes that the occurrences give up, from one form to the next, when the failure has no more to give.
_GIVEN_UP = (0, 40, 150)


def slim_claim(stored: Item, claim: ItemUpdate) -> ItemUpdate:
    """The claim with as much room as makes no more of the item than is stored, if that is as it is now."""
    counted = {name: {"N": str(int(stored[name]["N"]) + 1)} for name in claim.adds}
    left = _left(stored, {**claim.sets, **counted})
    where = {**claim.where, "rev": stored["rev"]}
    return _with_room(claim._replace(where=where), left)


def slim_outcome(stored: Item, old: Task, new: Task, update: ItemUpdate) -> tuple[Task, ItemUpdate]:
    """The richest form of `new` that makes no more of the item than is stored; the leanest if all do.

    `stored` is the item of `old`, as it is; `update` would make `new` of it. The task, and its update.
    """
    for form in _forms(old, new):
        sets, removes = changes(old, form)
        left = _left(stored, sets, removes)
        if left >= _width(sets):  # of the leanest form there may be less room
            break
    return form, _with_room(update._replace(sets=sets, removes=removes), left)


def _left(stored: Item, sets: Item, removes: Sequence[str] = ()) -> int:
    """The bytes that the update saves, room not counted; negative if it makes the item larger."""
    after = {name: value for name, value in {**stored, **sets}.items() if name not in {ROOM, *removes}}
    return bytes_in_lane(stored) - bytes_in_lane(after)


def _width(sets: Item) -> int:
    return bytes_of(sets, [ROOM])


def _with_room(update: ItemUpdate, most: int) -> ItemUpdate:
    """The update with as much room as it sets, but no more than this; none if that is less than the least."""
    if ROOM not in update.sets:
        return update
    others = {name: value for name, value in update.sets.items() if name != ROOM}
    if most < len(ROOM):
        return update._replace(sets=others, removes=[*update.removes, ROOM])
    return update._replace(sets={**others, **filler(min(most, _width(update.sets)) - len(ROOM))})


def _forms(old: Task, new: Task) -> Iterator[Task]:
    """Forms of the task, each leaner than the one before."""
    before = len(pack_occurrences(old.occurrences)) if old.occurrences else 0
    past = bounded_occurrences(new.occurrences, before)
    for most in _WORDS:
        failures = new.failures if most == _WORDS[0] else ()
        yield replace(new, failure=_cut(new.failure, most), failures=failures, occurrences=past)
    for given_up in (*_GIVEN_UP, before):
        past = bounded_occurrences(new.occurrences, before - given_up)
        yield replace(new, failure=None, failures=(), occurrences=past)
    if new.recurrence:
        yield replace(
            new, failure=None, failures=(), occurrences=(), recurrence=_without_retry(old, new.recurrence)
        )


def _without_retry(old: Task, recurrence: Recurrence) -> Recurrence:
    """Without the occurrence that would be retried beside the next: it counts as failed, for want of room."""
    retried = next((seat for seat in recurrence.aside[::-1] if seat.due == old.due), None)
    if retried is None or old.recurrence is None or len(recurrence.aside) <= len(old.recurrence.aside):
        return recurrence
    others = tuple(seat for seat in recurrence.aside if seat is not retried)
    over = replace(recurrence, turn=retried.turn).concluded(Result.FAILED)
    return replace(over, turn=recurrence.turn, aside=others)


def _cut(failure: Failure | None, most: int) -> Failure | None:
    return failure and Failure(type=failure.type[:_TYPE], message=failure.message[:most])
