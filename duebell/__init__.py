"""duebell: run things later on AWS. Users import everything from here, and from `duebell.testing` for tests.

from duebell import Editor, Worker

worker = Worker.from_env()

@worker.action("remind", attempts=5)
def remind(*, user: int) -> None: ...

remind.using(due=timedelta(days=2)).add(user=7)
Editor.from_env().add("remind", due=timedelta(days=2), payload={"user": 7})

A name is loaded when it is first used: a service that only adds tasks loads no worker.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duebell_editor import Added as Added
    from duebell_editor import Bucket as Bucket
    from duebell_editor import ChangeFailure as ChangeFailure
    from duebell_editor import ChangeReport as ChangeReport
    from duebell_editor import Diagnosis as Diagnosis
    from duebell_editor import DoubtfulPayload as DoubtfulPayload
    from duebell_editor import Editor as Editor
    from duebell_editor import Ended as Ended
    from duebell_editor import FailureGroup as FailureGroup
    from duebell_editor import Failures as Failures
    from duebell_editor import IfExists as IfExists
    from duebell_editor import Look as Look
    from duebell_editor import NewTask as NewTask
    from duebell_editor import Page as Page
    from duebell_editor import PastCounts as PastCounts
    from duebell_editor import Problem as Problem
    from duebell_editor import ProblemKind as ProblemKind
    from duebell_editor import Reservation as Reservation
    from duebell_editor import SchedulerStatus as SchedulerStatus
    from duebell_editor import Selection as Selection
    from duebell_editor import Step as Step
    from duebell_editor import SyncReport as SyncReport
    from duebell_editor import SyncStep as SyncStep
    from duebell_editor import SyncVerb as SyncVerb
    from duebell_editor import TaskChange as TaskChange
    from duebell_editor import TaskHistory as TaskHistory
    from duebell_editor import Transaction as Transaction
    from duebell_editor import TransactionItem as TransactionItem
    from duebell_editor import UnknownAction as UnknownAction
    from duebell_editor.library.async_editor import AsyncEditor as AsyncEditor
    from duebell_editor.status.action_limits import ActionLimit as ActionLimit
    from duebell_shared.bell.bell import BellKind as BellKind
    from duebell_shared.bell.run_notes import LastRun as LastRun
    from duebell_shared.bell.run_notes import LateRing as LateRing
    from duebell_shared.bell.run_notes import RestingLane as RestingLane
    from duebell_shared.errors import AwsError as AwsError
    from duebell_shared.errors import AwsRefused as AwsRefused
    from duebell_shared.errors import AwsUnavailable as AwsUnavailable
    from duebell_shared.errors import DuebellError as DuebellError
    from duebell_shared.errors import IndexNotReady as IndexNotReady
    from duebell_shared.errors import InvalidInput as InvalidInput
    from duebell_shared.errors import InvalidQuery as InvalidQuery
    from duebell_shared.errors import InvalidSchedule as InvalidSchedule
    from duebell_shared.errors import InvalidSettings as InvalidSettings
    from duebell_shared.errors import InvalidTask as InvalidTask
    from duebell_shared.errors import InvalidTransaction as InvalidTransaction
    from duebell_shared.errors import ItemRefusal as ItemRefusal
    from duebell_shared.errors import NotArmed as NotArmed
    from duebell_shared.errors import NotDeployed as NotDeployed
    from duebell_shared.errors import QueueFull as QueueFull
    from duebell_shared.errors import TaskChanged as TaskChanged
    from duebell_shared.errors import TaskConflict as TaskConflict
    from duebell_shared.errors import TaskExists as TaskExists
    from duebell_shared.errors import TaskNotFound as TaskNotFound
    from duebell_shared.errors import TransactionCancelled as TransactionCancelled
    from duebell_shared.errors import TransactionUnknown as TransactionUnknown
    from duebell_shared.errors import UnreadableTask as UnreadableTask
    from duebell_shared.errors import WorkerNotStarted as WorkerNotStarted
    from duebell_shared.keeping import History as History
    from duebell_shared.schedules.schedule import Schedule as Schedule
    from duebell_shared.schedules.schedule import make_schedule as make_schedule
    from duebell_shared.settings import Precision as Precision
    from duebell_shared.settings import Settings as Settings
    from duebell_shared.tasks.add_report import AddFailure as AddFailure
    from duebell_shared.tasks.add_report import AddReport as AddReport
    from duebell_shared.tasks.failure import FailedAttempt as FailedAttempt
    from duebell_shared.tasks.failure import Failure as Failure
    from duebell_shared.tasks.follow_up import FollowUp as FollowUp
    from duebell_shared.tasks.follow_up import Owed as Owed
    from duebell_shared.tasks.follow_up import Then as Then
    from duebell_shared.tasks.packed_occurrences import Occurrence as Occurrence
    from duebell_shared.tasks.packed_occurrences import Result as Result
    from duebell_shared.tasks.recurrence import Missed as Missed
    from duebell_shared.tasks.recurrence import Recurrence as Recurrence
    from duebell_shared.tasks.status import Status as Status
    from duebell_shared.tasks.task import Task as Task
    from duebell_shared.tasks.verbs import Verb as Verb
    from duebell_shared.tasks.worker_record import ActionDescription as ActionDescription
    from duebell_shared.tasks.worker_record import WorkerDescription as WorkerDescription
    from duebell_worker import Abort as Abort
    from duebell_worker import Action as Action
    from duebell_worker import ArgumentsAction as ArgumentsAction
    from duebell_worker import Backoff as Backoff
    from duebell_worker import PayloadAction as PayloadAction
    from duebell_worker import PreparedAction as PreparedAction
    from duebell_worker import Retry as Retry
    from duebell_worker import RunReport as RunReport
    from duebell_worker import Snooze as Snooze
    from duebell_worker import Worker as Worker

__all__ = [
    "Abort",
    "Action",
    "ActionDescription",
    "ActionLimit",
    "AddFailure",
    "AddReport",
    "Added",
    "ArgumentsAction",
    "AsyncEditor",
    "AwsError",
    "AwsRefused",
    "AwsUnavailable",
    "Backoff",
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
    "PayloadAction",
    "Precision",
    "PreparedAction",
    "Problem",
    "ProblemKind",
    "QueueFull",
    "Recurrence",
    "Reservation",
    "RestingLane",
    "Result",
    "Retry",
    "RunReport",
    "Schedule",
    "SchedulerStatus",
    "Selection",
    "Settings",
    "Snooze",
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
    "Worker",
    "WorkerDescription",
    "WorkerNotStarted",
    "make_schedule",
]

#: The names by the module that they are loaded from. Type checkers cannot read this, so the names are listed
#: above, too; a test holds the lists in step.
_NAMES = {
    "duebell_editor": (
        "Added Bucket ChangeFailure ChangeReport Diagnosis DoubtfulPayload Editor Ended FailureGroup "
        "Failures IfExists Look NewTask Page PastCounts Problem ProblemKind Reservation SchedulerStatus "
        "Selection Step SyncReport SyncStep SyncVerb TaskChange TaskHistory Transaction TransactionItem "
        "UnknownAction"
    ),
    "duebell_editor.library.async_editor": "AsyncEditor",
    "duebell_editor.status.action_limits": "ActionLimit",
    "duebell_shared.bell.bell": "BellKind",
    "duebell_shared.tasks.add_report": "AddFailure AddReport",
    "duebell_shared.errors": (
        "AwsError AwsRefused AwsUnavailable DuebellError IndexNotReady InvalidInput InvalidQuery "
        "InvalidSchedule InvalidSettings InvalidTask InvalidTransaction ItemRefusal NotArmed NotDeployed "
        "QueueFull TaskChanged TaskConflict TaskExists TaskNotFound TransactionCancelled "
        "TransactionUnknown UnreadableTask WorkerNotStarted"
    ),
    "duebell_shared.tasks.failure": "FailedAttempt Failure",
    "duebell_shared.tasks.follow_up": "FollowUp Owed Then",
    "duebell_shared.keeping": "History",
    "duebell_shared.tasks.packed_occurrences": "Occurrence Result",
    "duebell_shared.tasks.recurrence": "Missed Recurrence",
    "duebell_shared.bell.run_notes": "LastRun LateRing RestingLane",
    "duebell_shared.schedules.schedule": "Schedule make_schedule",
    "duebell_shared.settings": "Precision Settings",
    "duebell_shared.tasks.status": "Status",
    "duebell_shared.tasks.task": "Task",
    "duebell_shared.tasks.verbs": "Verb",
    "duebell_shared.tasks.worker_record": "ActionDescription WorkerDescription",
    "duebell_worker": (
        "Abort Action ArgumentsAction Backoff PayloadAction PreparedAction Retry RunReport Snooze Worker"
    ),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}


if not TYPE_CHECKING:  # a type checker would take any name for valid

    def __getattr__(name: str) -> Any:
        """Load the name when it is first used."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(_MODULES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
