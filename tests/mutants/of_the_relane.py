"""Mutants of how a queue in use is given more lanes."""

from .mutant import Killer, Mutant

__all__ = ["OF_THE_RELANE"]

_RELANE = "editor/duebell_editor/library/relane.py"
_EDITOR = "editor/duebell_editor/library/editor.py"
_QUEUE = "editor/duebell_editor/listing/queue.py"
_TAKEN_IDS = "editor/duebell_editor/library/taken_ids.py"
_RECORD = "shared/duebell_shared/bell/arming.py"
_ARMER = "shared/duebell_shared/bell/armer.py"
_MOVE = "shared/duebell_shared/queue/relocation.py"

OF_THE_RELANE = (
    Mutant(
        name="lanes added while runs hold some",
        file=_RELANE,
        line="            runs = record.owners(self._clock())\n",
        broken="            runs = set()\n",
        why="a run's tasks are moved under its hands, and its lanes taken",
        killers=(Killer.RELANE,),
    ),
    Mutant(
        name="runs claim lanes beside the mark",
        file=_RECORD,
        line="        free = [] if self.is_relaned(now) else free\n",
        broken="",
        why="a queue whose runs never pause is never given its lanes",
        killers=(Killer.RELANE,),
    ),
    Mutant(
        name="runs do not leave",
        file="worker/duebell_worker/run/run.py",
        line="return must_stop or self._lease.must_leave",
        broken="return must_stop",
        why="a run that always finds something due holds its lanes until its time is over",
        killers=(Killer.LEAVING,),
    ),
    Mutant(
        name="a task placed by the earlier number of lanes stays",
        file=_ARMER,
        line="if lanes is not None and len(record.lanes) != lanes:",
        broken="if False:",
        why="the task stays where its id is looked for last, and no relaner moves it",
        killers=(Killer.RELANE,),
    ),
    Mutant(
        name="ids are looked for by the present number of lanes only",
        file=_RECORD,
        line="return (len(self.lanes), *reversed(self.earlier))",
        broken="return (len(self.lanes),)",
        why="what has ended is not found, and its id is given to another task",
        killers=(Killer.RELANE,),
    ),
    Mutant(
        name="no second look where a task belongs",
        file=_QUEUE,
        line="return [*places, places[0]] if places[1:] else places",
        broken="return places",
        why="a task that is moved while it is looked for is not found",
        killers=(Killer.RELANE,),
    ),
    Mutant(
        name="an id that is taken where it was before is given away",
        file=_EDITOR,
        line="if not is_elsewhere and self._queue.store.insert(new):",
        broken="if self._queue.store.insert(new):",
        why="two tasks of one id wait at the same time",
        killers=(Killer.RELANE,),
    ),
    Mutant(
        name="the same, of many",
        file=_TAKEN_IDS,
        line="free = [task for task in tasks if task.id not in elsewhere]",
        broken="elsewhere, free = {}, list(tasks)",
        why="two tasks of one id wait at the same time",
        killers=(Killer.RELANE,),
    ),
    Mutant(
        name="a lost lease goes unnoticed",
        file=_RELANE,
        line="        self._armer.lower(dues)\n        self._check_holds(record)\n",
        broken="",
        why="a run has read the head of a lane before a task was moved there, and nothing rings for it",
        killers=(Killer.RELANE,),
    ),
    Mutant(
        name="lanes given back while a move may still land",
        file=_RELANE,
        line="            if self._may_move_later:\n",
        broken="            if False:\n",
        why="a task comes into a lane whose head was read, and nothing rings for it",
        killers=(Killer.RELANE,),
    ),
    Mutant(
        name="a move that overwrites",
        file=_MOVE,
        line="put = put_if_free(",
        broken="put = (lambda item, _: {'Item': item})(",
        why="a task that was added meanwhile is lost",
        killers=(Killer.STORE,),
    ),
    Mutant(
        name="one lane that cannot be read hides the others",
        file=_ARMER,
        line="if failed and len(failed) == len(lanes):",
        broken="if failed:",
        why="nothing rings for the other lanes when the queue is looked into",
        killers=(Killer.PARALLEL,),
    ),
)
