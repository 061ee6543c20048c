"""Mutants of the queue: the conditions of its writes, and how its times are kept."""

from .mutant import Killer, Mutant

__all__ = ["OF_THE_QUEUE"]

_TABLE = "shared/duebell_shared/table.py"

OF_THE_QUEUE = (
    Mutant(
        name="claimed whatever it is queued for",
        file=_TABLE,
        line='"ConditionExpression": "#status = :status AND queued = :as_queued"',
        broken='"ConditionExpression": "#status = :status AND :as_queued = :as_queued"',
        why="a task that was moved later runs early",
        killers=(Killer.STORE,),
    ),
    Mutant(
        name="claimed whatever its status",
        file=_TABLE,
        line='"ConditionExpression": "#status = :status AND queued = :as_queued"',
        broken='"ConditionExpression": ":status = :status AND queued = :as_queued"',
        why="a task that runs is started again beside itself",
        killers=(Killer.STORE,),
    ),
    Mutant(
        name="attempts not counted at the claim",
        file=_TABLE,
        line="#attempt = #attempt + :one",
        broken="#attempt = #attempt",
        why="a task that kills its process every time never ends as failed",
        killers=(Killer.STORE,),
    ),
    Mutant(
        name="a claim without a revision",
        file=_TABLE,
        line="rev = rev + :one",
        broken="rev = rev",
        why="an editor's change from before the claim takes it back",
        killers=(Killer.STORE,),
    ),
    Mutant(
        name="saved whatever its revision",
        file=_TABLE,
        line='update["ConditionExpression"] = "rev = :as_read"',
        broken='update["ConditionExpression"] = ":as_read = :as_read"',
        why="a run's outcome overwrites a task that was moved or cancelled meanwhile",
        killers=(Killer.STORE,),
    ),
    Mutant(
        name="inserted over whatever is there",
        file=_TABLE,
        line="self._tasks.of(task).save(is_free)",
        broken="self._tasks.of(task).save()",
        why="an id that is taken loses its task",
        killers=(Killer.STORE,),
    ),
    Mutant(
        name="a batch's own writes taken for another's",
        file=_TABLE,
        line="return not is_sure and self.get(task.lane, task.id) == task",
        broken="return False",
        why="tasks that add_many stored are reported as there already, and the rule is not set for them",
        killers=(Killer.INSERTING,),
    ),
    Mutant(
        name="another's task taken for a batch's own write",
        file=_TABLE,
        line="return not is_sure and self.get(task.lane, task.id) == task",
        broken="return not is_sure",
        why="a task is reported as added, and another one is stored under its id",
        killers=(Killer.INSERTING,),
    ),
    Mutant(
        name="the record swapped without a comparison",
        file=_TABLE,
        line="item.save(self._is_as_read(old))",
        broken="item.save()",
        why="two processes change the record, and one of the changes is lost",
        killers=(Killer.STORE,),
    ),
    Mutant(
        name="the index read as it was a while ago",
        file=_TABLE,
        line="within, consistent_read=True, page_size=page_size",
        broken="within, page_size=page_size",
        why="a run that misses a task that was just added releases the lane without it",
        killers=(Killer.STORE,),
    ),
    Mutant(
        name="the record read as it was a while ago",
        file=_TABLE,
        line="self._arming.get(ARMING, ARMING, consistent_read=True)",
        broken="self._arming.get(ARMING, ARMING)",
        why="an editor that finds the rule armed as it was does not arm it",
        killers=(Killer.STORE,),
    ),
    Mutant(
        name="times rounded down",
        file="shared/duebell_shared/instants.py",
        line="return instant + (-(instant - _EPOCH) % _MILLISECOND)",
        broken="return instant - ((instant - _EPOCH) % _MILLISECOND)",
        why="a task runs before it is due",
        killers=(Killer.INSTANTS,),
    ),
    Mutant(
        name="what is no time is waited for",
        file=_TABLE,
        line="if item.queued == UNREADABLE:",
        broken="if False:",
        why="a run that finds such an item at the head never ends",
        killers=(Killer.SHAPES,),
    ),
)
