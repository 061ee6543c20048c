"""Finds tasks that wait for an action that the worker does not have: they will fail."""

from collections import defaultdict

from duebell_editor.listing.filters import make_filter
from duebell_editor.listing.listing import list_tasks
from duebell_editor.listing.queue import Queue
from duebell_shared.quoting import nearest, quoted
from duebell_shared.tasks.reserved import is_reserved
from duebell_shared.tasks.worker_record import WorkerDescription

from .health import Problem, ProblemKind

__all__ = ["find_unknown_actions"]

#: The most tasks that are read, those that run next: about ten calls.
_READ = 500

#: The most actions that the problem names.
_MOST_NAMED = 5


def find_unknown_actions(queue: Queue, worker: WorkerDescription) -> Problem | None:
    """The problem of tasks without an action, among the first in the queue; None if there are none."""
    page = list_tasks(queue, make_filter(limit=_READ))
    ids: defaultdict[str, list[str]] = defaultdict(list)
    for task in page.tasks:
        if worker.action(task.action) is None and not is_reserved(task.action):
            ids[task.action].append(task.id)
    if not ids:
        return None
    most_first = sorted(ids.items(), key=lambda one: (-len(one[1]), one[0]))
    known = [one.name for one in worker.actions]
    named = [_in_words(action, tasks, nearest(action, known)) for action, tasks in most_first[:_MOST_NAMED]]
    more = f" and {len(ids) - _MOST_NAMED:,} more actions" if len(ids) > _MOST_NAMED else ""
    bound = f" (of the {_READ:,} tasks that run next; later ones were not read)" if page.cursor else ""
    return Problem(
        kind=ProblemKind.UNKNOWN_ACTIONS,
        what=f"the worker does not have the action of waiting tasks: {', '.join(named)}{more}{bound}",
        way_out="deploy a worker that has it, or `duebell cancel` the tasks, or give each another action: "
        "`duebell update ID --action NAME`",
    )


def _in_words(action: str, ids: list[str], meant: str | None) -> str:
    what = f"{quoted(action)} (did you mean {meant}?)" if meant else quoted(action)
    if not ids[1:]:
        return f"{what} of the task {quoted(ids[0])}"
    return f"{what} of {len(ids):,} tasks, the first {quoted(ids[0])}"
