"""Mutants of follow-ups, and of the tasks that owe them."""

from .mutant import Killer, Mutant

__all__ = ["OF_FOLLOW_UPS"]

_OWING = "shared/duebell_shared/tasks/owing.py"
_FOLLOW_UP = "shared/duebell_shared/tasks/follow_up.py"
_FOLLOW_UPS = "worker/duebell_worker/run/follow_ups.py"
_ATTEMPTS = "worker/duebell_worker/run/attempts.py"
_STATE = "shared/duebell_shared/tasks/task_state.py"
_EXPORT_LINES = "editor/duebell_editor/library/export_lines.py"
_FILTERS = "editor/duebell_editor/listing/filters.py"

_COUNTS = "editor/duebell_editor/listing/queue_counts.py"
_OWING_TASKS = "editor/duebell_editor/listing/owing_tasks.py"
_TABLE = "shared/duebell_shared/queue/table_items.py"

_KILLERS = (Killer.FOLLOW_UPS,)

OF_FOLLOW_UPS = (
    Mutant(
        name="a task that owes a follow-up leaves the queue",
        file=_OWING,
        line="        queued=queued,\n        expires_at=None,\n",
        broken="        expires_at=None,\n",
        why="a run that dies before it adds the follow-up leaves a task that no run looks at",
        killers=_KILLERS,
    ),
    Mutant(
        name="a parked task owes a follow-up where it was parked",
        file=_OWING,
        line="queued = min(over.queued or owed.at, owed.at)",
        broken="queued = over.queued",
        why="a follow-up that could not be added at once is late by up to a day",
        killers=(Killer.PARKED,),
    ),
    Mutant(
        name="a task that owes a follow-up can be changed",
        file=_STATE,
        line="        if self.owes:\n            raise TaskConflict(",
        broken="        if False:\n            raise TaskConflict(",
        why="a retry in that moment loses the follow-up",
        killers=_KILLERS,
    ),
    Mutant(
        name="an occurrence with a follow-up is the last",
        file=_OWING,
        line="        queued=owed.queued,",
        broken="        queued=None,",
        why="a recurring task stops after its first follow-up",
        killers=_KILLERS,
    ),
    Mutant(
        name="any task with the id counts as the follow-up",
        file=_FOLLOW_UPS,
        line="return is_or_was and (there.id, there.created_at) == (new.id, new.created_at)",
        broken="return there.id == new.id",
        why="the follow-up is lost where a task of the user has its id",
        killers=_KILLERS,
    ),
    Mutant(
        name="a follow-up that was changed is taken for another task",
        file=_FOLLOW_UPS,
        line="is_or_was = there.action == new.action or there.rev > 1",
        broken="is_or_was = there.action == new.action",
        why="a follow-up that is given another action before its task is written again is added twice",
        killers=_KILLERS,
    ),
    Mutant(
        name="an id that cannot be read is taken for a moment only",
        file=_FOLLOW_UPS,
        line="if task.id in there or self._is_unreadable(task.id):",
        broken="if task.id in there:",
        why="the task owes its follow-up for ever, and nobody can cancel it",
        killers=_KILLERS,
    ),
    Mutant(
        name="a second failure has the id of the first alone",
        file=_FOLLOW_UP,
        line='return first, f"/{self.cause}@{render(self.at)}"',
        broken="return first, first",
        why="a task that is retried and fails again is told to nobody",
        killers=_KILLERS,
    ),
    Mutant(
        name="a report of a failure that reports its own",
        file=_FOLLOW_UPS,
        line='new, told = partial(new, due=owed.at, on_failed=""), _report_of(task, owed)',
        broken="new, told = partial(new, due=owed.at), _report_of(task, owed)",
        why="an action that hears of failures and fails adds tasks without end",
        killers=_KILLERS,
    ),
    Mutant(
        name="a task that owes a follow-up is not looked at by other runs",
        file=_ATTEMPTS,
        line="owing = {key: task for key, task in found.items() if task.owes and queue_key(task) == key}",
        broken="owing: dict[QueueKey, Task] = {}",
        why="a follow-up that could not be added at once never is",
        killers=_KILLERS,
    ),
    Mutant(
        name="a recurring task that owes a follow-up is listed nowhere",
        file=_FILTERS,
        line="status = Status.SCHEDULED if goes_on else task.status",
        broken="status = task.status",
        why="it is missing from every list as long as AWS refuses its follow-up",
        killers=_KILLERS,
    ),
    Mutant(
        name="a follow-up that the rule is not set for",
        file=_FOLLOW_UPS,
        line="twins = {task.id for task in self._rule.arm_added(added, lanes)}",
        broken="twins: set[str] = set()",
        why="the follow-up waits until the rule rings for something else",
        killers=_KILLERS,
    ),
    Mutant(
        name="an imported task owes without an end",
        file=_EXPORT_LINES,
        line="        _check_owes(task, task.owes)\n",
        broken="",
        why="a done task that is imported with a place in the queue to go on at runs again",
        killers=(Killer.IMPORTING,),
    ),
    Mutant(
        name="a note on a failed try that is written each time",
        file=_OWING,
        line="return task if task.follow_up_error == said else replace(",
        broken="return replace(",
        why="as long as AWS refuses a follow-up, each try costs a write more",
        killers=_KILLERS,
    ),
    Mutant(
        name="an occurrence that owes has the reason of the one before",
        file=_OWING,
        line="        follow_up_error=None,  # it is that of an occurrence before\n",
        broken="",
        why="an operator reads why another follow-up could not be added",
        killers=_KILLERS,
    ),
    Mutant(
        name="a task that owes counts as waiting",
        file=_COUNTS,
        line="waiting = [key.queued for key in itertools.chain(*by_lane) if key not in owing]",
        broken="waiting = [key.queued for key in itertools.chain(*by_lane)]",
        why="it is overdue beside done or failed, with a repair that changes nothing",
        killers=(Killer.OWING_COUNTS,),
    ),
    Mutant(
        name="only the first of the tasks that owe are found",
        file=_OWING_TASKS,
        line="        if not any(owes(key, task) for key, task in there):\n            return\n",
        broken="        return\n",
        why="when AWS refuses hundreds of follow-ups, the others count as overdue",
        killers=(Killer.OWING_COUNTS,),
    ),
)
