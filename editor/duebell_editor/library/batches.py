"""Batches: a task that is blocked until all tasks of the batch have ended, and adding tasks to one."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from uuid import uuid4

from msgspec.structs import replace

from duebell_shared.backend import Backend
from duebell_shared.errors import (
    KEEP_IT,
    AddFailure,
    AddReport,
    AwsUnavailable,
    DuebellError,
    InvalidTask,
    NotArmed,
    TaskConflict,
    TaskExists,
    TaskNotFound,
)
from duebell_shared.instants import NO_TIME
from duebell_shared.payloads import payload as payloads
from duebell_shared.queue.changes import MOST_WRITES, TaskWrite
from duebell_shared.queue.items import check_size
from duebell_shared.queue.task_queue import TRIES, Added, Policy, Queue, RuleSetter
from duebell_shared.quoting import quoted
from duebell_shared.tasks.checks import NO_FOLLOW_UP, check_name
from duebell_shared.tasks.fields import FIELDS, IfExists, NewTask, checked, fields_of
from duebell_shared.tasks.follow_up import Members
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import Task

from .adder import check_several

#: The follow-ups of a batch: rows of fields, with their meaning for a batch.
FOLLOW_UPS = {
    "then": replace(
        FIELDS["then"], means="What the batch runs when all tasks have ended; its payload is an object"
    ),
    "on_failed": replace(
        FIELDS["on_failed"],
        means="The action that the batch runs instead if a task has failed",
        unset="that of then",
    ),
}

#: The time for which a task that is to join a batch is reserved.
_GRACE = timedelta(minutes=1)

#: The tasks that join a batch by one transaction.
_AT_ONCE = MOST_WRITES - 1


def new_batch(id: str | None, then: object, on_failed: str | None, *, now: datetime) -> Task:
    """An open batch without tasks; its payload says that no task has ended. Raises InvalidTask."""
    follow_up = checked("then", then)
    if on_failed is not None:
        check_name("on_failed", on_failed)
    if follow_up and follow_up.result_as:
        raise InvalidTask("then.result_as", "cannot be combined with a batch: each of its tasks has a result")
    payload = follow_up.payload if follow_up else {}
    if not isinstance(payload, dict) or "batch" in payload:
        raise InvalidTask("then.payload", "must be an object without `batch`: the counts are put in there")
    action = follow_up.action if follow_up else NO_FOLLOW_UP
    task = new_task(id=id, action=action, due=now, now=now)
    members = Members(on_failed=on_failed, after=(follow_up.after if follow_up else None) or NO_TIME)
    return replace(
        task,
        status=Status.BLOCKED,
        queued=None,
        members=members,
        payload_json=payloads.encode({**payload, "batch": members.told(task.id)}),
    )


def check_follow_up(there: Task, new: Task) -> None:
    """Raise TaskConflict if the stored batch `there` has another follow-up than this new one."""

    def follow_up(batch: Task) -> tuple[object, ...]:
        members = batch.members or Members()
        return batch.action, batch.payload, members.on_failed, members.after

    if follow_up(there) != follow_up(new):
        raise TaskConflict(
            f"batch {quoted(there.id)} is there already, with another follow-up: cancel it, or choose "
            f"another id"
        )


class Joiner:
    """Adds tasks to batches.

    Problem: a batch must wait for all its tasks, and never for a missing task, even if a process dies.
    Solution: the tasks are stored as reserved. One transaction then confirms them and adds them to the batch.
    """

    def __init__(self, backend: Backend, queue: Queue, rule: RuleSetter) -> None:
        self._backend = backend
        self._queue = queue
        self._rule = rule

    def check_free(self, id: str, tasks: Sequence[Task]) -> None:
        """Check that the ids of a new batch's tasks are free. Ids that begin with the batch's are not read.

        Raises InvalidTask, TaskExists.
        """
        given = {task.id: task for task in tasks if not task.id.startswith(f"{id}/")}
        if id in given:
            raise InvalidTask("tasks", f"name {quoted(id)}, the batch itself")
        for there in self._queue.get_many(list(given)).values() if given else ():
            if there.batch != id:
                raise _taken(there, given[there.id])

    def add_one(self, task: Task, policy: Policy) -> Added:
        """Add this checked task to its batch. Raises DuebellError."""
        outcomes, there = self._outcomes([task], policy)
        outcome = outcomes[task.id]
        if isinstance(outcome, DuebellError):
            raise outcome
        return Added(outcome, "kept" if outcome is there.get(task.id) else "added")

    def add(self, tasks: Sequence[Task], policy: Policy) -> AddReport:
        """Add these checked tasks, each to its batch. Returns a report as `Editor.add_many` does."""
        outcomes, there = self._outcomes(tasks, policy)
        failures = [
            AddFailure(index=index, id=task.id, error=outcome)
            for index, task in enumerate(tasks)
            if isinstance(outcome := outcomes[task.id], DuebellError)
        ]
        failed = {one.id for one in failures}
        added = tuple(task.id for task in tasks if task.id not in failed)
        kept = tuple(id for id in added if outcomes[id] is there.get(id))
        return AddReport(added=added, failures=tuple(failures), there_already=kept)

    def _outcomes(
        self, tasks: Sequence[Task], policy: Policy
    ) -> tuple[Mapping[str, Task | DuebellError], Mapping[str, Task]]:
        """The outcomes of adding these tasks, by id, and the tasks that were there before."""
        outcomes: dict[str, Task | DuebellError] = {}
        there = self._queue.get_many([task.id for task in tasks])
        of_batches: dict[str, list[Task]] = {}
        for task in tasks:
            old = there.get(task.id)
            is_of_batch = old is not None and old.batch == task.batch
            if old is None or (is_of_batch and old.status is Status.RESERVED):
                # An earlier call reserved the task, and raised: reserve it once more.
                of_batches.setdefault(task.batch or "", []).append(task)
                continue
            is_kept = is_of_batch and policy.if_exists is IfExists.KEEP
            outcomes[task.id] = old if is_kept else _taken(old, task)
        for id, members in of_batches.items():
            for first in range(0, len(members), _AT_ONCE):
                some = members[first : first + _AT_ONCE]
                try:
                    outcomes |= self._join(id, some)
                except DuebellError as error:
                    outcomes |= {task.id: error for task in some if task.id not in outcomes}
        return outcomes, there

    def _join(self, id: str, tasks: Sequence[Task]) -> Mapping[str, Task | DuebellError]:
        """Add these new tasks to this batch, all of them or those that could be reserved."""
        self._batch(id).joined(len(tasks))  # raises for a closed batch, before anything is written
        until = self._backend.clock() + _GRACE
        policy = Policy()
        stored = self._backend.parallel(
            lambda task: self._rule.add(task.reserved(uuid4().hex, until=until), policy).task, tasks
        )
        outcomes: dict[str, Task | DuebellError] = {}
        confirmed: list[TaskWrite] = []
        for task, one in zip(tasks, stored, strict=True):
            if isinstance(one, Task):
                confirmed.append(TaskWrite(one, one.confirmed()))
            elif isinstance(one, NotArmed):  # the task is only reserved
                outcomes[task.id] = AwsUnavailable(
                    f"task {quoted(task.id)} is not added yet: {one.__cause__}"
                )
            else:
                outcomes[task.id] = one
        if confirmed:
            self._change(
                id,
                "confirm",
                lambda batch: [TaskWrite(batch, batch.joined(len(confirmed))), *confirmed],
            )
        return outcomes | {write.new.id: write.new for write in confirmed}

    def wait_for(self, id: str, ids: Sequence[str], noted: Callable[[Task, Task], Task]) -> None:
        """Make a batch also wait for these stored tasks. Raises DuebellError.

        noted  returns the task to store, from the task before and after its change
        """

        def writes_of(some: Sequence[str], batch: Task) -> list[TaskWrite]:
            writes = [TaskWrite(old, noted(old, new)) for old, new in self.joining(batch, some)]
            ended = [one.new.status for one in writes if one.new.counted]
            joined = batch.joined(len(writes)).with_ended(
                ended, now=self._backend.clock(), keep=self._backend.settings.retention_policy
            )
            return [TaskWrite(batch, joined), *writes] if writes else []

        for first in range(0, len(ids), _AT_ONCE):
            self._change(id, "wait_for", partial(writes_of, ids[first : first + _AT_ONCE]))

    def joining(self, batch: Task, ids: Sequence[str]) -> list[tuple[Task, Task]]:
        """The tasks of these ids outside the batch, each before and after it joins. Raises DuebellError."""
        there = self._queue.get_many(ids)
        if missing := [id for id in ids if id not in there]:
            raise TaskNotFound(missing[0])
        return [(one, check_size(one.joining(batch))) for one in there.values() if one.batch != batch.id]

    def save_retried(self, task: Task, retried: Task) -> bool:
        """Save a task that is retried after its batch has counted it: the batch waits for it again."""
        batch = self._queue.get(task.batch) if task.batch else None
        if batch is None or not batch.is_blocked:
            return self._backend.store.save(task, retried)
        writes = [TaskWrite(batch, batch.with_retried(task.status)), TaskWrite(task, retried)]
        return not self._backend.store.transact(writes, token=uuid4().hex).refusals

    def _change(self, id: str, verb: str, writes_of: Callable[[Task], Sequence[TaskWrite]]) -> None:
        """Change a batch, and tasks in the same transaction. Raises DuebellError.

        If the transaction is not made, reserved tasks among them end by themselves.
        """
        for number in range(1, TRIES + 1):
            writes = writes_of(self._batch(id))
            if not writes or not self._backend.store.transact(writes, token=uuid4().hex).refusals:
                self._queue.audit.changed(verb, *((write.old, write.new) for write in writes[1:]))
                return
            self._backend.sleep(0.05 * number)
        raise TaskConflict(f"batch {quoted(id)}, or its tasks, kept changing: repeat the call")

    def _batch(self, id: str) -> Task:
        batch = self._queue.get(id)
        if batch is None:
            raise TaskNotFound(id)
        return batch


def _taken(there: Task, new: Task) -> TaskExists:
    """The error of a new task of a batch, whose id is that of a stored one."""
    way_out = KEEP_IT
    if there.batch != new.batch:
        way_out = "or let the batch wait for that task (`wait_for`), if it is in no other batch"
    return TaskExists(new.id, reserved_until=there.reserved_until, way_out=way_out)


def members_of(id: str, tasks: object) -> list[NewTask]:
    """The tasks that a batch is made with; a task without an id is named by its place. Raises InvalidTask."""
    given: list[NewTask] = []
    for place, one in enumerate(check_several("tasks", tasks)):
        try:
            fields = fields_of(NewTask, one)
        except InvalidTask as error:
            raise InvalidTask(f"tasks[{place}].{error.field}", error.reason) from None
        given.append({**fields, "batch": id, "id": fields.get("id") or f"{id}/{place + 1}"})
    return given
