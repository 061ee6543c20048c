"""Mutants of adds that put a waiting task off."""

from .mutant import Killer, Mutant

__all__ = ["OF_PUSHING"]

_DEBOUNCE = "editor/duebell_editor/library/debounce.py"
_TAKEN_IDS = "editor/duebell_editor/library/taken_ids.py"

OF_PUSHING = (
    Mutant(
        name="pushed without end",
        file=_DEBOUNCE,
        line="        created_at=there.created_at,\n",
        broken="",
        why="a task that is pushed again and again never runs, whatever its limit",
        killers=(Killer.PUSHING,),
    ),
    Mutant(
        name="a first push without a limit",
        file=_DEBOUNCE,
        line="if at_most is None or new.due <= (limit := new.created_at + at_most):",
        broken="if (limit := new.created_at) or at_most:",
        why="a task that is added by a push, and by no other after that, is due later than its limit",
        killers=(Killer.PUSHING,),
    ),
    Mutant(
        name="an overdue task that is pushed back in the queue",
        file=_DEBOUNCE,
        line="due, queued = min(there.due, now), min(there.queued or now, now)",
        broken="due, queued = now, now",
        why="pushes hold up a task for as long as the worker has much to do",
        killers=(Killer.PUSHING,),
    ),
    Mutant(
        name="an overdue task that is pushed out of the line of its limit",
        file=_DEBOUNCE,
        line="elif there.limited_since and there.action == new.action:",
        broken="elif False:",
        why="each push makes it the last of all that wait for the limit, so it never runs",
        killers=(Killer.PUSHING,),
    ),
    Mutant(
        name="a paused task that a push queues",
        file=_DEBOUNCE,
        line="queued=None if is_paused else queued,",
        broken="queued=queued,",
        why="a paused task enters the queue, where no run can claim it",
        killers=(Killer.PUSHING,),
    ),
    Mutant(
        name="the limit of a task that has begun",
        file=_DEBOUNCE,
        line="if there.status not in _WAITING:",
        broken="if False:",
        why="a push while the task runs is lost with it: the new one keeps the status and time of the old",
        killers=(Killer.PUSHING,),
    ),
    Mutant(
        name="pushed without looking at what is there",
        file=_TAKEN_IDS,
        line="                replacement = pushed(there, replacement, at_most)\n",
        broken="                pass\n",
        why="a limit is not kept, and a recurring task is lost",
        killers=(Killer.PUSHING,),
    ),
)
