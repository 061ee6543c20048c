"""The whole stack on this machine for users' tests: its rule really rings, its worker is the real bundle."""

import time
from datetime import timedelta

from duebell_editor import Editor
from duebell_infra.local.stack import EmbeddedStack
from duebell_infra.local.worker_log import WorkerLog
from duebell_shared.quoting import quoted
from duebell_shared.tasks.task import Task

__all__ = ["LiveStack"]

#: A rule rings at the latest two minutes after a task is added; machines can be busy.
_PATIENCE = timedelta(minutes=4)
_PAUSE = 0.1


class LiveStack:
    """A stack that runs, as tests use it.

    editor       an editor of its queue
    environment  the variables with which other processes, such as the service under test, reach it
    """

    def __init__(self, stack: EmbeddedStack) -> None:
        self.editor = Editor(stack.settings, session=stack.session)
        self.environment = stack.environment
        self._log = WorkerLog(stack.worker_log)

    def ended(self, id: str, *, within: timedelta = _PATIENCE) -> Task:
        """Wait until this task has ended, and return it. Raises TimeoutError, and TaskNotFound.

        What is due at once starts within seconds, anything else when the rule rings: within two minutes after
        its due date.
        """
        give_up = time.monotonic() + within.total_seconds()
        while not (task := self.editor.get(id)).status.is_finished:
            if time.monotonic() > give_up:
                raise TimeoutError(f"the task {quoted(id)} is {task.status} after {within}, due {task.due}")
            time.sleep(_PAUSE)
        return task

    def log_lines(self) -> list[str]:
        """The lines of the worker and of its actions since the last call."""
        return list(self._log.new_lines())
