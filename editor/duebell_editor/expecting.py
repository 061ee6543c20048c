"""Changes only to a task that is still as it was read, so that nobody's change is lost unseen."""

from duebell_shared.errors import TaskConflict
from duebell_shared.task import Task

from .editor import Editor

__all__ = ["TaskChanged", "expecting"]


class TaskChanged(TaskConflict):
    """The task was changed since it was read. Nothing was written; `task` is as it is now."""

    def __init__(self, task: Task, expected: int) -> None:
        super().__init__(
            f"task {task.id!r} was changed meanwhile, to rev {task.rev} from {expected}: look at it again"
        )
        self.task = task


def expecting(editor: Editor, rev: int | None) -> Editor:
    """The same editor, for tasks that are still at `rev`: its verbs raise TaskChanged for any other.

    None expects nothing.
    """
    return editor if rev is None else _Expecting(editor, rev)


class _Expecting(Editor):
    """Each verb reads, then writes on condition of the rev it read: so a look at what is read is enough."""

    def __init__(self, editor: Editor, rev: int) -> None:
        super().__init__(backend=editor._backend)  # noqa: SLF001 - one of its own kind
        self._rev = rev

    def get(self, id: str) -> Task:
        task = super().get(id)
        if task.rev != self._rev:
            raise TaskChanged(task, self._rev)
        return task
