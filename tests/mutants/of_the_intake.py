"""Mutants of the intake: what is one task however often it comes, and what is lost or stays."""

from .mutant import Killer, Mutant

__all__ = ["OF_THE_INTAKE"]

_INTAKE = "editor/duebell_editor/intake"

OF_THE_INTAKE = (
    Mutant(
        name="an add without an id gets another each time",
        file=f"{_INTAKE}/messages.py",
        line="id=id if task.id is None else check_name",
        broken="id=None if task.id is None else check_name",
        why="a message that SQS delivers twice is two tasks",
        killers=(Killer.INTAKE,),
    ),
    Mutant(
        name="the adds of a list have one id",
        file=f"{_INTAKE}/messages.py",
        line='source if place is None else f"{source}-{place}"',
        broken="source",
        why="of a list, one task is added and the others are lost",
        killers=(Killer.INTAKE,),
    ),
    Mutant(
        name="in counts from when the message is taken",
        file=f"{_INTAKE}/messages.py",
        line="return check_due(due, sent) if isinstance(due, timedelta) else due",
        broken="return due",
        why="a message that waited is late by that, and a move moves further each time it comes",
        killers=(Killer.INTAKE,),
    ),
    Mutant(
        name="a change is made each time its message comes",
        file=f"{_INTAKE}/effects.py",
        line="if there.changed_by == change.mark:",
        broken="if False:",
        why="the next occurrence of a recurring task is moved as well",
        killers=(Killer.INTAKE,),
    ),
    Mutant(
        name="a change that was made before is not armed for",
        file=f"{_INTAKE}/effects.py",
        line="    if repeated:\n",
        broken="    if False:\n",
        why="a process died between the change and the rule: the task is woken for too late",
        killers=(Killer.INTAKE,),
    ),
    Mutant(
        name="a change overtakes one that AWS did not answer",
        file=f"{_INTAKE}/effects.py",
        line="        if trouble:\n",
        broken="        if False:\n",
        why="the older change is made last, and holds",
        killers=(Killer.INTAKE,),
    ),
    Mutant(
        name="what cannot be right takes its batch with it",
        file=f"{_INTAKE}/effects.py",
        line="            failures |= wrong\n",
        broken="            return failures | {place: error for group in groups for place in group}\n",
        why="right tasks are dead letters",
        killers=(Killer.INTAKE,),
    ),
    Mutant(
        name="what AWS did not answer counts as done",
        file=f"{_INTAKE}/batch.py",
        line='{"batchItemFailures": [{"itemIdentifier": one.id} for one in again]}',
        broken='{"batchItemFailures": []}',
        why="SQS deletes a message that took no effect",
        killers=(Killer.INTAKE,),
    ),
    Mutant(
        name="what was not begun in time counts as done",
        file=f"{_INTAKE}/batch.py",
        line="for one in (*again, *messages)}",
        broken="for one in again}",
        why="SQS deletes messages that nobody has read",
        killers=(Killer.INTAKE,),
    ),
    Mutant(
        name="a batch is taken to its end however long that takes",
        file=f"{_INTAKE}/batch.py",
        line="if until is not None and self.clock() >= until:",
        broken="if False:",
        why="Lambda kills the process, and a large batch comes again as large, until it is dead letters",
        killers=(Killer.INTAKE,),
    ),
    Mutant(
        name="a message with a dead letter to come is done without it",
        file=f"{_INTAKE}/batch.py",
        line="            if is_taken:\n",
        broken="            if True:\n",
        why="what cannot be right is lost when the dead-letter queue does not answer",
        killers=(Killer.INTAKE,),
    ),
    Mutant(
        name="a missing task is a dead letter at once",
        file=f"{_INTAKE}/batch.py",
        line="isinstance(failure, _MAY_MEND) and message.received >= _PATIENCE",
        broken="isinstance(failure, _MAY_MEND)",
        why="a change that comes before its add is lost",
        killers=(Killer.INTAKE,),
    ),
)
