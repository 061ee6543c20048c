"""Mutants of what a lane holds: packed occurrences, adds to a full lane."""

from .mutant import Killer, Mutant

__all__ = ["OF_FULL_LANES"]

_SHARED = "shared/duebell_shared/"

OF_FULL_LANES = (
    Mutant(
        name="occurrences as long as their words are",
        file=_SHARED + "packed_occurrences.py",
        line="    if len(pack_occurrences(latest)) <= most:\n",
        broken="    if True:\n",
        why="a recurring task that fails takes write units for its words, with each occurrence",
        killers=(Killer.PACKED,),
    ),
    Mutant(
        name="the lateness of a spread told as that of the one before",
        file=_SHARED + "packed_occurrences.py",
        line="            before.lag = lag\n",
        broken="",
        why="the history of a task with a spread is not what happened",
        killers=(Killer.PACKED,),
    ),
    Mutant(
        name="an add to a full lane is tried again one by one",
        file=_SHARED + "table_items.py",
        line="if answer.is_full and written.is_sure:",
        broken="if False:",
        why="who adds many to a full queue makes a call for each, and each is refused",
        killers=(Killer.FULL_LANES,),
    ),
)
