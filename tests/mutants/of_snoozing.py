"""Mutants of tasks that their actions put off."""

from .mutant import Killer, Mutant

__all__ = ["OF_SNOOZING"]

_TASK = "shared/duebell_shared/tasks/task.py"
_STATE = "shared/duebell_shared/tasks/task_state.py"
_PERFORMER = "worker/duebell_worker/run/performer.py"
_OUTCOME = "worker/duebell_worker/run/outcome.py"

OF_SNOOZING = (
    Mutant(
        name="a snooze that counts as an attempt",
        file=_TASK,
        line="            attempt=self.attempt - 1,\n            snoozes=self.snoozes + 1,",
        broken="            snoozes=self.snoozes + 1,",
        why="a task that waits for something fails when it has asked as often as it may fail",
        killers=(Killer.SNOOZING,),
    ),
    Mutant(
        name="a snoozed occurrence that forgets its snoozes while it waits aside",
        file=_STATE,
        line="snoozes=self.snoozes or UNSET,",
        broken="",
        why="an action that gives up after some snoozes never does",
        killers=(Killer.SNOOZING,),
    ),
    Mutant(
        name="a spread that wakes a snoozed task",
        file=_TASK,
        line="if self.queued is None or self.attempt or self.snoozes:",
        broken="if self.queued is None or self.attempt:",
        why="a change of the spread runs a task before the time that its action asked for",
        killers=(Killer.SNOOZING,),
    ),
    Mutant(
        name="a schedule in place of a snoozed task",
        file=_TASK,
        line="is_retry = self.recurrence is None and (self.attempt > 0 or self.snoozes > 0)",
        broken="is_retry = self.recurrence is None and self.attempt > 0",
        why="a task that was put off and then given a schedule never does the rest of its work",
        killers=(Killer.SNOOZING,),
    ),
    Mutant(
        name="a snooze of no time",
        file=_OUTCOME,
        line="pause = min(max(snooze.after, _SHORTEST_SNOOZE), LATEST - now)",
        broken="pause = min(snooze.after, LATEST - now)",
        why="an action that puts its task off each time keeps a run busy until its time is up",
        killers=(Killer.SNOOZING,),
    ),
    Mutant(
        name="a snooze that a full lane does not take has no outcome",
        file=_PERFORMER,
        line="if isinstance(result, QueueFull) and one.outcome is Outcome.SNOOZED:",
        broken="if False:",
        why="the action is called again and again, and the task says in the end that its process died",
        killers=(Killer.FULL_LANE_SNOOZE,),
    ),
)
