"""The change of a task in a form that makes its item no larger: for a lane that holds all that it may. Pure.

What comes of a task must be written, or the task runs again. So what only tells of the past gives way, and
no more of it than must: the traceback first, then the failures' words and the oldest occurrences.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from .attribute_size import bytes_of
from .failure import Failure
from .item_size import bytes_in_lane
from .item_update import Item
from .items import changes
from .packed_occurrences import bounded_occurrences, pack_occurrences
from .room import ROOM, filler
from .task import Task

__all__ = ["slim"]

#: Characters of the failure's words that are kept, from one form to the next.
_WORDS = (3_000, 1_000, 300, 100, 30)

#: Bytes that the occurrences give up, from one form to the next, when the failure has no more to give.
_GIVEN_UP = (0, 40, 150)


def slim(stored: Item, old: Task, new: Task) -> tuple[Task, Item, list[str]]:
    """The richest form of `new` that makes no more of the item than is stored; the leanest if all do.

    `stored` is the item of `old`, as it is. The task, and the attributes to set and to remove.
    """
    most = bytes_in_lane(stored)
    for form in _forms(old, new):
        sets, removes = changes(old, form)
        room = sets.pop(ROOM, None)
        after = {name: value for name, value in {**stored, **sets}.items() if name not in {ROOM, *removes}}
        left = most - bytes_in_lane(after)
        wanted = bytes_of({ROOM: room}, [ROOM]) if room else 0
        if left >= wanted:
            break
    if room and left >= len(ROOM):  # of the leanest form it may be less
        sets |= filler(min(left, wanted) - len(ROOM))
    elif room:
        removes = [*removes, ROOM]
    return form, sets, removes


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


def _cut(failure: Failure | None, most: int) -> Failure | None:
    return failure and Failure(type=failure.type[:most], message=failure.message[:most])
