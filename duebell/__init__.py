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
from typing import Any

#: The public names by the module that they are loaded from. Type checkers read them in __init__.pyi.
_NAMES = {
    "duebell_editor.library.async_editor": "AsyncEditor",
    "duebell_editor.library.backfill": "BackfillReport",
    "duebell_editor.library.change_many": "ChangeFailure ChangeReport Selection",
    "duebell_editor.library.editor": "Editor",
    "duebell_editor.library.sync": "SyncReport SyncStep",
    "duebell_shared.queue.task_queue": "Added",
    "duebell_editor.listing.failures": "FailureGroup Failures",
    "duebell_editor.listing.history": "Ended PastTimeline",
    "duebell_editor.listing.listing": "Page",
    "duebell_editor.listing.queue_counts": "PastCounts Snapshot",
    "duebell_editor.listing.timeline": "Bucket Step",
    "duebell_editor.simulation.playing": "Start",
    "duebell_editor.simulation.simulate": "ActionForecast Flattening Forecast Simulation",
    "duebell_editor.status.action_limits": "ActionLimit",
    "duebell_editor.status.health": "Diagnosis Problem ProblemKind SchedulerStatus",
    "duebell_editor.status.why": "WaitCause Why",
    "duebell_editor.transactions.task_writes": "Reservation TransactionItem",
    "duebell_editor.transactions.transaction": "Transaction",
    "duebell_shared.backoff": "Backoff",
    "duebell_shared.bell.bell": "BellKind",
    "duebell_shared.bell.arming": "LastRun LateRing RestingLane",
    "duebell_shared.errors": (
        "AddFailure AddReport AwsError AwsRefused AwsUnavailable DuebellError IndexNotReady "
        "InvalidInput InvalidQuery InvalidSchedule InvalidSettings InvalidTask InvalidTransaction "
        "ItemRefusal NotArmed NotDeployed QueueFull TaskChanged TaskConflict TaskExists TaskNotFound "
        "TransactionCancelled TransactionUnknown UnreadableTask WorkerNotStarted"
    ),
    "duebell_shared.schedules.calendars": "Calendar",
    "duebell_shared.schedules.schedule": "Holidays Schedule make_schedule",
    "duebell_shared.settings": "Precision Settings",
    "duebell_shared.tasks.history": "Event Failure Lateness Occurrence Result",
    "duebell_shared.tasks.fields": "IfExists NewTask TaskChange",
    "duebell_shared.tasks.follow_up": "FollowUp Members Owed Then",
    "duebell_shared.tasks.recurrence": "Missed Recurrence",
    "duebell_shared.tasks.status": "History Status Verb",
    "duebell_shared.tasks.task": "Task",
    "duebell_shared.tasks.task_warnings": "DoubtfulPayload UnknownAction",
    "duebell_shared.tasks.worker_record": "ActionDescription WorkerDescription",
    "duebell_worker.actions.action": "Action PreparedAction",
    "duebell_worker.actions.handles": "ArgumentsAction PayloadAction",
    "duebell_worker.run.attempt": "Abort Retry Snooze stopping",
    "duebell_worker.run.report": "RunReport",
    "duebell_worker.worker": "Worker",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_MODULES)  # noqa: PLE0605 (type checkers read __init__.pyi)


def __getattr__(name: str) -> Any:
    """Load the name when it is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
