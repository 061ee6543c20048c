"""duebell for services that schedule: add tasks to be run later, look at them, change them.

from duebell_editor import Editor
editor = Editor.from_env()
editor.add("remind", due=timedelta(days=2), payload={"user": 7})
"""

from duebell_shared.bell.bell import BellKind
from duebell_shared.bell.run_notes import LastRun, LateRing, RestingLane
from duebell_shared.errors import (
    AwsError,
    AwsRefused,
    AwsUnavailable,
    DuebellError,
    IndexNotReady,
    InvalidInput,
    InvalidQuery,
    InvalidSchedule,
    InvalidSettings,
    InvalidTask,
    InvalidTransaction,
    ItemRefusal,
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
from duebell_shared.keeping import History
from duebell_shared.schedules.schedule import Schedule, make_schedule
from duebell_shared.settings import Precision, Settings
from duebell_shared.tasks.add_report import AddFailure, AddReport
from duebell_shared.tasks.failure import FailedAttempt, Failure
from duebell_shared.tasks.fields import NewTask, TaskChange
from duebell_shared.tasks.follow_up import FollowUp, Owed, Then
from duebell_shared.tasks.recurrence import Missed, Occurrence, Recurrence, Result
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import Task
from duebell_shared.tasks.task_warnings import DoubtfulPayload, UnknownAction
from duebell_shared.tasks.verbs import Verb
from duebell_shared.tasks.worker_record import ActionDescription, WorkerDescription

from .library.change_many import ChangeFailure, ChangeReport, Selection
from .library.editor import Editor, IfExists
from .library.sync import SyncReport, SyncStep, SyncVerb
from .library.taken_ids import Added
from .listing.failures import FailureGroup, Failures
from .listing.history import Ended, TaskHistory
from .listing.listing import Page
from .listing.queue_counts import Look, PastCounts
from .listing.timeline import Bucket, Step
from .status.action_limits import ActionLimit
from .status.health import Diagnosis, Problem, ProblemKind, SchedulerStatus
from .transactions.task_writes import Reservation, TransactionItem
from .transactions.transaction import Transaction

__all__ = [
    "ActionDescription",
    "ActionLimit",
    "AddFailure",
    "AddReport",
    "Added",
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
    "IndexNotReady",
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
