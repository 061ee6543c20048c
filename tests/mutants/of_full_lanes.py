"""Mutants of what a lane holds: packed occurrences, room for a claim, slim outcomes."""

from .mutant import Killer, Mutant

__all__ = ["OF_FULL_LANES"]

_CHANGES = "shared/duebell_shared/queue/task_changes.py"
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
        name="no room for a claim",
        file=_SHARED + "room.py",
        line="return filler(_WIDTH + growth - bytes_of(stored(**written), _WIDEST))",
        broken="return filler(0)",
        why="in a lane that is full nothing can be claimed, and so nothing runs",
        killers=(Killer.FULL_LANES,),
    ),
    Mutant(
        name="a claim leaves its room as it is",
        file=_CHANGES,
        line="sets={**sets, **room_of_claim(sets, status)},",
        broken="sets=sets,",
        why="in a lane that is full nothing can be claimed, and so nothing runs",
        killers=(Killer.FULL_LANES,),
    ),
    Mutant(
        name="an outcome written as it is, or not at all",
        file=_SHARED + "table_items.py",
        line="            if made.is_full:\n                return self._save_slim(old, new)\n",
        broken="            if made.is_full:\n                raise QueueFull(old.id, old.lane)\n",
        why="in a lane that is full tasks run again and again, and none ends",
        killers=(Killer.FULL_LANES,),
    ),
    Mutant(
        name="a slim outcome that takes what the next claim needs",
        file=_SHARED + "item_size.py",
        line="        if left >= bytes_of(sets, [_ROOM]):",
        broken="        if left >= 0:",
        why="a task in a full lane is retried once, and cannot be claimed again",
        killers=(Killer.FULL_LANES,),
    ),
    Mutant(
        name="an add to a full lane is tried again one by one",
        file=_SHARED + "table_items.py",
        line="if answer.is_full and written.is_sure:",
        broken="if False:",
        why="who adds many to a full queue makes a call for each, and each is refused",
        killers=(Killer.FULL_LANES,),
    ),
    Mutant(
        name="no write is measured",
        file=_SHARED + "lane_sizes.py",
        line="            self._measured.update(lanes)\n",
        broken="            self._measured.update(lanes)\n            places = []\n",
        why="a lane that is written to in batches fills up, and nothing warns",
        killers=(Killer.LANE_SIZES,),
    ),
)
