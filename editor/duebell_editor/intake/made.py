"""Which changes of a message took effect, as the mark on their task says.

A task keeps only the mark of its last change, and a list may change one task several times. So the mark also
says which earlier changes of the list took effect.
"""

from collections.abc import Iterable
from datetime import datetime

from duebell_shared.tasks.intake_mark import MAX_WITHOUT, IntakeMark

__all__ = ["Made"]


class Made:
    """The changes of one task, of one message, that took effect, in the order in which they are there.

    A change counts as made only while no earlier one of its list has been made after it.
    """

    def __init__(self, marks: Iterable[IntakeMark]) -> None:
        """`marks` are those of all changes of this task in the message."""
        every = list(marks)
        self._source = every[0].source
        self._places = sorted({mark.place for mark in every})
        self._made: set[int] = set()
        self._pushed: datetime | None = None

    def __contains__(self, mark: IntakeMark) -> bool:
        return mark.place in self._made

    def recall(self, last: IntakeMark | None) -> None:
        """Learn from the mark of the task's last change what was made when the message came before."""
        if last is None:
            return
        self._pushed = last.pushed
        if last.source == self._source:
            known = range(last.place if last.alone else 0, last.place + 1)
            self._made |= {place for place in self._places if place in known and place not in last.without}

    def mark(self, mark: IntakeMark, *, pushed: datetime | None = None) -> IntakeMark:
        """The mark to leave if this change is made now; `pushed` is when a push was sent."""
        missing = tuple(place for place in self._places if place < mark.place and place not in self._made)
        is_alone = len(missing) > MAX_WITHOUT
        return IntakeMark(
            source=mark.source,
            place=mark.place,
            without=() if is_alone else missing,
            alone=is_alone,
            pushed=pushed or self._pushed,
        )

    def add(self, mark: IntakeMark) -> None:
        """Note that a change was made now. Later ones of the list are made once more, for they hold."""
        self._made = {place for place in self._made if place < mark.place} | {mark.place}

    def is_before_push(self, sent: datetime) -> bool:
        """Tell whether a message was sent before that of the task's last push.

        All of what it pushes for is in the run that follows that push.
        """
        return self._pushed is not None and sent < self._pushed
