"""duebell for whoever does the work: actions, and the Lambda that runs them when the rule rings.

from duebell_worker import Worker
worker = Worker.from_env()

@worker.action("remind", attempts=5)
def remind(payload: dict, task: Task) -> None: ...
"""

from duebell_shared.failure import Failure
from duebell_shared.settings import Settings
from duebell_shared.status import Status
from duebell_shared.task import Task

from .outcome import Abort, Retry
from .report import RunReport
from .worker import Worker

__all__ = ["Abort", "Failure", "Retry", "RunReport", "Settings", "Status", "Task", "Worker"]
