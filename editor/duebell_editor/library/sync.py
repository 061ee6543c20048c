"""Makes the recurring tasks of the queue match the declarations in the worker's code.

Repeating it is safe, also after a crash in the middle: each task stores whether code declared it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from duebell_editor.listing.recurring import recurring_tasks
from duebell_shared.backend import Backend
from duebell_shared.errors import DuebellError, NotArmed, TaskExists, WorkerNotStarted
from duebell_shared.payloads import payload as payloads
from duebell_shared.queue.task_queue import Policy, Queue, RuleSetter
from duebell_shared.schedules.schedule import Schedule
from duebell_shared.tasks.fields import (
    FIELDS,
    SCHEDULE,
    STORED,
    DeclaredFields,
    IfExists,
    TaskChange,
    fields_of,
    names_of,
)
from duebell_shared.tasks.new_task import Calendars, changed_task, new_task
from duebell_shared.tasks.recurrence import Recurrence
from duebell_shared.tasks.status import Status, Verb
from duebell_shared.tasks.task import Task
from duebell_shared.tasks.worker_record import DeclaredTask, WorkerRecord

from .change_many import ChangeFailure

#: The fields in which a task is compared with its declaration: all but the start, which is never declared.
_COMPARED = tuple(name for name, row in FIELDS.items() if row.stored and name != "start")

_DECLARED = ("action", "schedule", *names_of(DeclaredFields))


class SyncStep(msgspec.Struct, frozen=True, kw_only=True):
    """One change to the queue.

    verb      add, change or cancel
    id        the task's id
    action    its action
    schedule  its declared schedule; for `cancel`, the schedule that it had
    fields    the fields that change
    """

    verb: Literal["add", "change", "cancel"]
    id: str
    action: str
    schedule: str
    fields: tuple[str, ...] = ()

    def __str__(self) -> str:
        changes = f", {', '.join(self.fields)}" if self.fields else ""
        return f"{self.verb} {self.id} ({self.action}, {self.schedule}){changes}"


class SyncReport(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of `Editor.sync`.

    version    the version of the worker whose code declares the tasks
    steps      the changes to the queue: made, or with `dry_run` to be made
    unchanged  the number of tasks that are as declared
    failures   the steps that could not be made; repeat the call for them
    """

    version: str
    steps: tuple[SyncStep, ...] = ()
    unchanged: int = 0
    failures: tuple[ChangeFailure, ...] = ()


class Syncer(NamedTuple):
    """A queue whose recurring tasks are made to match its worker's declarations.

    change  stores the task that the function returns; with a rev, only if the task is at this rev
    """

    backend: Backend
    queue: Queue
    rule: RuleSetter
    change: Callable[[Verb, str, Callable[[Task], Task], int | None], Task]
    changed_by: str | None

    def sync(self, *, dry_run: bool) -> SyncReport:
        """Make the steps, unless it is a dry run. Raises WorkerNotStarted, NotArmed."""
        record = self.queue.store.read(WorkerRecord)
        worker = record.known if record else None
        if record is None or worker is None:
            known = record.described(self.queue.clock()) if record else None
            raise WorkerNotStarted(
                f"the worker cannot start: {known.error}"
                if known and known.error
                else "no worker has started in this queue yet, or a new one is starting"
            )
        declared = {task.id: task for task in record.declared}
        there = self.queue.get_many(declared)
        others = [task for task in recurring_tasks(self.queue) if task.id not in declared]
        gone = {task.id: task for task in others if task.recurrence and task.recurrence.declared}
        steps = tuple(_steps(declared, there, gone.values(), self.queue.clock()))
        unchanged = len(declared) + len(gone) - len(steps)
        report = SyncReport(version=worker.version, steps=steps, unchanged=unchanged)
        if dry_run:
            return report
        # An earlier call may have stored these, and failed to arm.
        self.rule.arm([there[id] for id in declared if id in there])
        failures = []
        for step in steps:
            try:
                self._take(step, declared.get(step.id), there.get(step.id) or gone.get(step.id))
            except NotArmed:
                raise
            except DuebellError as error:
                failures.append(ChangeFailure(id=step.id, error=error))
        return replace(report, failures=tuple(failures))

    def _take(self, step: SyncStep, declared: DeclaredTask | None, there: Task | None) -> None:
        now, calendars = self.queue.clock(), self.backend.calendar
        if declared and step.verb == "add":
            if there and not there.has_ended:
                raise TaskExists(there.id)
            policy = Policy(IfExists.REPLACE, rev=there.rev) if there else Policy(IfExists.KEEP)
            new = _marked(new_task(id=declared.id, **_given(declared), now=now, calendars=calendars))
            self.rule.add(replace(new, changed_by=self.changed_by), policy)
        elif declared and there:
            self.change(
                Verb.UPDATE, there.id, lambda task: _as_declared(task, declared, now, calendars), None
            )
        elif there:
            keep = self.backend.settings.retention_policy
            self.change(Verb.CANCEL, there.id, lambda task: task.cancelled(now=now, keep=keep), there.rev)


def _steps(
    declared: Mapping[str, DeclaredTask], there: Mapping[str, Task], gone: Iterable[Task], now: datetime
) -> Iterator[SyncStep]:
    """The steps that make the tasks as declared; `gone` are tasks that the code no longer declares."""
    for task in declared.values():
        found = there.get(task.id)
        fields = _differences(task, found) if found and found.recurrence else ()
        is_missing = found is None or found.recurrence is None or found.status is Status.CANCELLED
        if is_missing or (found and found.has_ended and fields):
            if not _is_over(task, now):
                yield SyncStep(verb="add", id=task.id, action=task.action, schedule=task.schedule)
        elif fields:
            yield SyncStep(
                verb="change", id=task.id, action=task.action, schedule=task.schedule, fields=fields
            )
    for one in gone:
        if one.recurrence:
            expression = one.recurrence.schedule.expression
            yield SyncStep(verb="cancel", id=one.id, action=one.action, schedule=expression)


def _is_over(declared: DeclaredTask, now: datetime) -> bool:
    """Tell whether the schedule has no further time, such as that of a year that has passed."""
    schedule = Schedule(expression=declared.schedule, timezone=declared.timezone or "UTC")
    return schedule.next_after(now) is None


def _differences(declared: DeclaredTask, task: Task) -> tuple[str, ...]:
    """The fields in which a task differs from its declaration.

    `declared` is one of them if code did not declare the task before.
    """
    recurrence = task.recurrence
    if recurrence is None:
        return ()
    found = {name: _stored(name, task, recurrence) for name in _COMPARED}
    wanted = {name: _wanted(name, declared) for name in _COMPARED}
    changed = tuple(name for name in _COMPARED if wanted[name] != found[name])
    return changed if recurrence.declared else (*changed, "declared")


def _stored(name: str, task: Task, recurrence: Recurrence) -> Any:
    row = FIELDS[name]
    at: object = {"task": task, "recurrence": recurrence, "schedule": recurrence.schedule}[row.stored]
    return getattr(at, row.named or name)


def _wanted(name: str, declared: DeclaredTask) -> Any:
    value = getattr(declared, STORED.get(name, name), None)
    return FIELDS[name].default if value is None else value


def _as_declared(task: Task, declared: DeclaredTask, now: datetime, calendars: Calendars) -> Task:
    """The task as it is declared. Raises TaskConflict while it runs, InvalidTask, InvalidSchedule."""
    given = {**_given(declared), "end": None, "max_runs": None}  # code declares neither of the two
    fields = _differences(declared, task)
    if "schedule" not in fields:
        changes = {name: given[name] for name in fields if name in given}
    else:  # a schedule comes with its own time zone, start and end
        changes = {name: given[name] for name in (*SCHEDULE, *fields) if name in given}
    return _marked(changed_task(task, fields_of(TaskChange, changes), now=now, calendars=calendars))


def _given(declared: DeclaredTask) -> dict[str, Any]:
    wanted = {name: _wanted(name, declared) for name in _DECLARED}
    given = {name: None if value == FIELDS[name].default else value for name, value in wanted.items()}
    return given | {"payload": payloads.decode(declared.payload_json)}


def _marked(task: Task) -> Task:
    return replace(task, recurrence=task.recurrence and replace(task.recurrence, declared=True))
