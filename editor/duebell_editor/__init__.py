"""duebell for services that schedule: add tasks to be run later, look at them, change them.

from duebell_editor import Editor
editor = Editor.from_env()
editor.add("remind", due=timedelta(days=2), payload={"user": 7})
"""

from duebell_shared.add_report import AddFailure, AddReport
from duebell_shared.bell import BellKind
from duebell_shared.errors import (
    AwsError,
    AwsRefused,
    AwsUnavailable,
    DuebellError,
    InvalidInput,
    InvalidQuery,
    InvalidSchedule,
    InvalidSettings,
    InvalidTask,
    InvalidTransaction,
    NotArmed,
    NotDeployed,
    QueueFull,
    TaskChanged,
    TaskConflict,
    TaskExists,
    TaskNotFound,
    TransactionCancelled,
    TransactionUnknown,
    UnreadableTask,
    WorkerNotStarted,
)
from duebell_shared.failure import FailedAttempt, Failure
from duebell_shared.follow_up import FollowUp, Owed, Then
from duebell_shared.keeping import History
from duebell_shared.recurrence import Missed, Occurrence, Recurrence, Result
from duebell_shared.run_notes import LastRun, LateRing, RestingLane
from duebell_shared.schedule import Schedule, make_schedule
from duebell_shared.settings import Precision, Settings
from duebell_shared.status import Status
from duebell_shared.task import Task
from duebell_shared.task_warnings import DoubtfulPayload, UnknownAction
from duebell_shared.transactions import ItemRefusal
from duebell_shared.verbs import Verb
from duebell_shared.worker_record import ActionDescription, WorkerDescription

from .action_limits import ActionLimit
from .change_many import ChangeFailure, ChangeReport, Selection
from .editor import Editor, IfExists
from .failures import FailureGroup, Failures
from .health import Problem, ProblemKind
from .history import Ended, TaskHistory
from .listing import Page
from .look import Look
from .past_counts import PastCounts
from .reservation import Reservation, TransactionItem
from .status import Diagnosis, SchedulerStatus
from .sync import SyncReport, SyncStep, SyncVerb
from .timeline import Bucket, Step
from .transaction import Transaction
from .values import NewTask, TaskChange

__all__ = [
    "ActionDescription",
    "ActionLimit",
    "AddFailure",
    "AddReport",
    "AwsError",
    "AwsRefused",
    "AwsUnavailable",
    "BellKind",
    "Bucket",
    "ChangeFailure",
    "ChangeReport",
    "Diagnosis",
    "DoubtfulPayload",
    "DuebellError",
    "Editor",
    "Ended",
    "FailedAttempt",
    "Failure",
    "FailureGroup",
    "Failures",
    "FollowUp",
    "History",
    "IfExists",
    "InvalidInput",
    "InvalidQuery",
    "InvalidSchedule",
    "InvalidSettings",
    "InvalidTask",
    "InvalidTransaction",
    "ItemRefusal",
    "LastRun",
    "LateRing",
    "Look",
    "Missed",
    "NewTask",
    "NotArmed",
    "NotDeployed",
    "Occurrence",
    "Owed",
    "Page",
    "PastCounts",
    "Precision",
    "Problem",
    "ProblemKind",
    "QueueFull",
    "Recurrence",
    "Reservation",
    "RestingLane",
    "Result",
    "Schedule",
    "SchedulerStatus",
    "Selection",
    "Settings",
    "Status",
    "Step",
    "SyncReport",
    "SyncStep",
    "SyncVerb",
    "Task",
    "TaskChange",
    "TaskChanged",
    "TaskConflict",
    "TaskExists",
    "TaskHistory",
    "TaskNotFound",
    "Then",
    "Transaction",
    "TransactionCancelled",
    "TransactionItem",
    "TransactionUnknown",
    "UnknownAction",
    "UnreadableTask",
    "Verb",
    "WorkerDescription",
    "WorkerNotStarted",
    "make_schedule",
]
