"""The worker: actions, and the Lambda that runs them when the rule rings. Users import it from `duebell`."""

from duebell_shared.backoff import Backoff
from duebell_shared.failure import Failure
from duebell_shared.settings import Settings
from duebell_shared.status import Status
from duebell_shared.task import Task

from .action import Action
from .handles import ArgumentsAction, PayloadAction
from .outcome import Abort, Retry, Snooze
from .report import RunReport
from .worker import Worker

__all__ = [
    "Abort",
    "Action",
    "ArgumentsAction",
    "Backoff",
    "Failure",
    "PayloadAction",
    "Retry",
    "RunReport",
    "Settings",
    "Snooze",
    "Status",
    "Task",
    "Worker",
]
