"""Marks: the author that a change leaves on its task, so that it is known when its message comes again.

A task keeps only the author of its last change, and a list may change one task several times. So the author
also says which earlier changes of the list took effect:

    intake m-7              the change of a message that is no list, with the id m-7
    intake m-7-5            place 5 of a list, and every earlier change of this task in it
    intake m-7-5 without 1,2   the same, but for the changes at places 1 and 2
    intake m-7-5 alone      place 5; of the earlier ones, too many did not take effect to name them

A push says in addition when its message was sent, so that an older one which comes after it is known:

    intake m-7 pushed 2026-12-31T00:00:00.000Z
"""

import re
from collections.abc import Iterable
from datetime import datetime

import msgspec

from duebell_shared.errors import InvalidTask
from duebell_shared.instants import render
from duebell_shared.tasks.given import check_changed_by, fit_changed_by

__all__ = ["Made", "Mark", "is_before_push"]

#: Says that nothing is known of the earlier changes: their places are too many for a mark.
_ALONE = "alone"

#: What follows the source in the mark of a list's change.
_PLACES = re.compile(rf"-(\d+)(?: without (\d+(?:,\d+)*)| ({_ALONE}))?", re.ASCII)


#: Between the mark of a push and the time when its message was sent.
_PUSHED = " pushed "


class Mark(msgspec.Struct, frozen=True):
    """What a change is known by.

    source  the id of its message or event, the same each time it comes and of no other one
    place   its place in the message's list; None if the message is this change alone
    """

    source: str
    place: int | None = None


class Made:
    """The changes of one task, of one message, that took effect, in the order in which they are there.

    A change counts as made only while no earlier one of its list has been made after it.
    """

    def __init__(self, marks: Iterable[Mark]) -> None:
        """`marks` are those of all changes of this task in the message."""
        every = list(marks)
        self._source = every[0].source
        self._places = sorted({mark.place for mark in every if mark.place is not None})
        self._made: set[int | None] = set()

    def __contains__(self, mark: Mark) -> bool:
        return mark.place in self._made

    def recall(self, changed_by: str | None) -> None:
        """Learn from the author of the task's last change what was made when the message came before."""
        if changed_by is None:
            return
        changed_by = changed_by.partition(_PUSHED)[0]
        if not self._places:
            if changed_by == self.author(Mark(self._source)):
                self._made.add(None)
            return
        begin = f"intake {self._source}"
        said = _PLACES.fullmatch(changed_by.removeprefix(begin)) if changed_by.startswith(begin) else None
        if not said:
            return
        last, missing = int(said[1]), {int(place) for place in (said[2] or "").split(",") if place}
        earliest = last if said[3] else 0
        self._made |= {place for place in self._places if earliest <= place <= last and place not in missing}

    def author(self, mark: Mark, *, pushed: datetime | None = None) -> str:
        """The author of this change, if it is made now; `pushed` is when a push was sent."""
        name = self._author(mark)
        if pushed is None:
            return name
        try:
            return str(check_changed_by(f"{name}{_PUSHED}{render(pushed)}"))
        except InvalidTask:  # it is too long; a push too many is better than one too few
            return name

    def _author(self, mark: Mark) -> str:
        if mark.place is None:
            return fit_changed_by(f"intake {mark.source}") or mark.source
        name = f"intake {mark.source}-{mark.place}"
        missing = [str(place) for place in self._places if place < mark.place and place not in self._made]
        if not missing:
            return name
        try:
            return str(check_changed_by(f"{name} without {','.join(missing)}"))
        except InvalidTask:  # it is too long; a change too many made again is better than one too few
            return f"{name} {_ALONE}"

    def add(self, mark: Mark) -> None:
        """Note that a change was made now. Later ones of the list are made once more, for they hold."""
        if mark.place is not None:
            self._made = {place for place in self._made if place is not None and place < mark.place}
        self._made.add(mark.place)


def is_before_push(sent: datetime, changed_by: str | None) -> bool:
    """Tell whether a message was sent before that of the push which the author of a task's last change names.

    All of what it pushes for is in the run that follows that push.
    """
    last = (changed_by or "").partition(_PUSHED)[2]
    return bool(last) and render(sent) < last
