"""The worker: actions, and the Lambda that runs them when the rule rings. Users import it from `duebell`."""

from duebell_shared.backoff import Backoff
from duebell_shared.settings import Settings
from duebell_shared.tasks.failure import Failure
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import Task

from .actions.action import Action, PreparedAction
from .actions.handles import ArgumentsAction, PayloadAction
from .run.outcome import Abort, Retry, Snooze
from .run.report import RunReport
from .worker import Worker

__all__ = [
    "Abort",
    "Action",
    "ArgumentsAction",
    "Backoff",
    "Failure",
    "PayloadAction",
    "PreparedAction",
    "Retry",
    "RunReport",
    "Settings",
    "Snooze",
    "Status",
    "Task",
    "Worker",
]
