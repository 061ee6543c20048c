"""What a message of the intake queue leaves on the task that it changes. Pure."""

from typing import Annotated

import msgspec

from duebell_shared.instants import Instant

__all__ = ["MAX_WITHOUT", "IntakeMark"]

#: Places that a mark names at most.
MAX_WITHOUT = 20


class IntakeMark(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The last change of a task by a message of the intake queue, by which it is known when it comes again.

    source   the id of its message or event, the same each time it comes and of no other one
    place    its place in the message's list
    without  places of earlier changes of the task in the list that did not take effect; all others did
    alone    whether nothing is known of the earlier ones: too many did not take effect
    pushed   when the message of the task's last push was sent
    """

    source: Annotated[str, msgspec.Meta(max_length=100)]
    place: int = 0
    without: Annotated[tuple[int, ...], msgspec.Meta(max_length=MAX_WITHOUT)] = ()
    alone: bool = False
    pushed: Instant | None = None
