"""Adds the follow-ups of tasks that have ended, and stores the result on these tasks."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import cached_property, partial
from typing import TYPE_CHECKING
from uuid import uuid4

from msgspec.structs import replace

from duebell_shared.errors import (
    DuebellError,
    InvalidTask,
    QueueFull,
    TaskConflict,
    TaskExists,
    UnreadableTask,
)
from duebell_shared.instants import LATEST
from duebell_shared.queue.changes import MOST_WRITES, TaskWrite
from duebell_shared.queue.items import check_size
from duebell_shared.queue.places import lane_of
from duebell_shared.quoting import quoted
from duebell_shared.tasks.fields import IfExists
from duebell_shared.tasks.follow_up import Cause, Owed
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.task import Task, queue_key
from duebell_worker.log import LogLine
from duebell_worker.run.context import RunContext
from duebell_worker.run.lanes import Lanes

if TYPE_CHECKING:
    from duebell_shared.queue.task_queue import Queue, RuleSetter

#: A follow-up that could not be added is tried again after this time.
_AGAIN = timedelta(minutes=1)

#: Tasks of a batch that are counted by one transaction, and tries of it; seconds between the first two.
_COUNTED_AT_ONCE, _TRIES, _PAUSE = MOST_WRITES - 1, 5, 0.05

#: Errors after which another try does not help.
_FOR_GOOD = (InvalidTask, QueueFull, TaskExists)


class FollowUps:
    """The follow-ups of one run. Thread-safe."""

    def __init__(self, context: RunContext, lanes: Lanes) -> None:
        self._context = context
        self._lanes = lanes

    def add(self, ended: Sequence[Task]) -> list[Task]:
        """Add the follow-ups of these tasks; return the tasks as they are then. Raises nothing.

        A task whose follow-up can never be added goes on without it, and keeps the error. A task that still
        owes it after a failed call is tried again in a minute.
        """
        try:
            return self._add(ended)
        except Exception as error:  # noqa: BLE001 (a bug of ours: the run still waits for these attempts)
            for task in ended:
                self._log(task, error)
                self._lanes.trouble.skip(queue_key(task), until=self._context.now() + _AGAIN)
            return list(ended)

    def _add(self, ended: Sequence[Task]) -> list[Task]:
        results = self._results(ended)
        reasons = {
            id: _said(result) if isinstance(result, Exception) else None
            for id, result in results.items()
            if isinstance(result, (Task, *_FOR_GOOD))
        }
        counted, changed = self._counted([task for task in ended if task.id in reasons])
        finished = [(task, task.follow_up_settled(reasons[task.id])) for task in counted]
        keep = self._context.backend.settings.retention_policy
        saved = self._lanes.save([(old, new if new.is_kept(keep) else None) for old, new in finished])
        changed |= {old.id for (old, _), one in zip(finished, saved, strict=True) if one is False}
        stored = {new.id: new for (_, new), one in zip(finished, saved, strict=True) if one is True}
        for task in ended:
            self._log(task, results[task.id])
            if task.id not in stored and task.id not in changed:
                self._lanes.trouble.skip(queue_key(task), until=self._context.now() + _AGAIN)
        return [stored.get(task.id, task) for task in ended]

    def _counted(self, tasks: Sequence[Task]) -> tuple[Sequence[Task], set[str]]:
        """Count the ends of these tasks in their batches, if they have one.

        Returns the tasks that can leave the queue now, and the ids of those that someone else has changed.
        """
        counted = [task for task in tasks if task.batch is None]
        changed: set[str] = set()
        of_batches: dict[str, list[Task]] = {}
        for task in tasks:
            if task.batch is not None:
                of_batches.setdefault(task.batch, []).append(task)
        for id, members in of_batches.items():
            for first in range(0, len(members), _COUNTED_AT_ONCE):
                with suppress(DuebellError):  # then they are counted the next time
                    counted += self._count(id, members[first : first + _COUNTED_AT_ONCE], changed)
        return counted, changed

    def _count(self, id: str, tasks: Sequence[Task], changed: set[str]) -> Sequence[Task]:
        """Count these tasks in their batch, and set the rule for the batch if they were its last.

        Problem: a process may die before it sets the rule. Solution: one transaction counts the tasks and
        marks them as counted, and they stay in the queue. The next run then finds them, and sets the rule.
        Returns the counted tasks, and adds the ids of the others to `changed`. Raises DuebellError.
        """
        store, keep = self._context.backend.store, self._context.backend.settings.retention_policy
        for number in range(1, _TRIES + 1):
            batch = self._queue.get(id)
            new = [task for task in tasks if not task.counted]
            if batch is None or not batch.is_blocked or not new:
                if batch:
                    self._rule.arm([batch])
                return tasks
            after = batch.with_ended([task.status for task in new], now=self._context.now(), keep=keep)
            writes = [TaskWrite(batch, after), *(TaskWrite(task, task.as_counted()) for task in new)]
            refusals = store.transact(writes, token=uuid4().hex).refusals
            if not refusals:
                self._rule.arm([after])
                return [task if task.counted else task.as_counted() for task in tasks]
            refused = [one.index for one in refusals if one.code == "ConditionalCheckFailed"]
            changed |= {new[index - 1].id for index in refused if index}
            tasks = [task for task in tasks if task.id not in changed]
            self._context.backend.sleep(number * _PAUSE)
        raise TaskConflict(f"batch {quoted(id)} kept changing while its tasks were counted")

    def _results(self, ended: Sequence[Task]) -> Mapping[str, Task | Exception]:
        """Add the follow-ups of these tasks; return each as it is stored, or why it could not be.

        For a task that has no follow-up, and only counts in its batch, returns the task itself.
        """
        results: dict[str, Task | Exception] = {task.id: task for task in ended}
        left = [task for task in ended if task.owes and task.owes.action]
        try:
            for ending in (0, 1):
                results |= self._inserted({task.id: _made(task, ending) for task in left})
                left = [task for task in left if isinstance(results[task.id], TaskExists)]
        except DuebellError as error:  # of any of them; the next try finds those that were added
            return dict.fromkeys(results, error)
        return results

    def _inserted(self, made: Mapping[str, Task | Exception]) -> dict[str, Task | Exception]:
        """Insert these new tasks, and arm the rule for them. Raises what arming raises.

        Returns each as it is stored, or its error: TaskExists if another task has its id.
        """
        results = dict(made)
        if not any(isinstance(one, Task) for one in made.values()):
            return results
        from duebell_shared.queue.task_queue import Policy, insert_many, settle_all  # noqa: PLC0415 (few need it)

        lanes = self._queue.lanes
        new = {
            id: replace(one, lane=lane_of(one.id, lanes)) for id, one in made.items() if isinstance(one, Task)
        }
        results |= new
        answers = insert_many(self._queue, list(new.values()), {task.id for task in new.values()})
        added, taken = [], {}
        for (id, task), answer in zip(new.items(), answers, strict=True):
            if answer is True:
                added.append(task)
            elif answer is False:
                taken[id] = task
            else:
                results[id] = answer
        settled = settle_all(self._queue, list(taken.values()), Policy(IfExists.KEEP)) if taken else []
        for (id, task), there in zip(taken.items(), settled, strict=True):
            is_other = isinstance(there, Task) and not _is_same(there, task)
            results[id] = TaskExists(task.id) if is_other or isinstance(there, UnreadableTask) else there
        deleted = {task.id for task in self._rule.arm_added(added, lanes)}
        self._rule.arm([one for id in taken if isinstance(one := results[id], Task)])
        for id, task in new.items():
            if task.id in deleted:  # it may be there in another lane: the next try finds out
                results[id] = TaskConflict(f"{quoted(task.id)} changed")
        return results

    @cached_property
    def _queue(self) -> "Queue":
        from duebell_shared.queue.task_queue import Queue  # noqa: PLC0415 (few workers need an editor)

        return Queue(self._context.backend)

    @cached_property
    def _rule(self) -> "RuleSetter":
        from duebell_shared.queue.task_queue import RuleSetter  # noqa: PLC0415

        return RuleSetter(self._context.backend, self._queue)

    def _log(self, task: Task, result: Task | Exception) -> None:
        if result is task:  # it had none to be added
            return
        if isinstance(result, Task):
            self._context.log(
                LogLine.FOLLOW_UP_ADDED,
                id=task.id,
                action=task.action,
                follow_up=result.id,
                adds=result.action,
            )
            return
        line = LogLine.FOLLOW_UP_REFUSED if isinstance(result, _FOR_GOOD) else LogLine.FOLLOW_UP_NOT_ADDED
        self._context.log(line, id=task.id, error=_said(result))


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, DuebellError) else repr(error)  # a bug of ours


def _made(task: Task, ending: int) -> Task | Exception:
    """The follow-up that this task owes, not placed in a lane yet; or the error, if there can be none."""
    try:
        if not task.owes:
            return TaskConflict("it owes nothing")
        return replace(_follow_up_of(task, task.owes, ending), traceparent=task.traceparent)
    except InvalidTask as error:
        return error


def _follow_up_of(task: Task, owed: Owed, ending: int) -> Task:
    new = partial(new_task, id=task.id + owed.endings[ending], action=owed.action, now=owed.at)
    if owed.cause is Cause.DONE and task.then:
        payload = task.then.payload_after(task.result_json, task.result_error)
        return new(payload=payload, due=min(owed.at + task.then.after, LATEST))
    # It has no `on_failed` of its own: two actions might report their failures to each other without end.
    new = partial(new, due=owed.at, on_failed="")
    error = {"type": task.failure.type, "message": task.failure.message} if task.failure else None
    told = task.told_as_failed(due=owed.due, attempts=owed.attempts, at=owed.at, error=error)
    try:
        return check_size(new(payload=told))
    except InvalidTask as invalid:
        if invalid.field != "payload":
            raise
    del told["payload"]  # it made the report too large
    return new(payload=told)


def _is_same(there: Task, new: Task) -> bool:
    """Tell whether the stored task is this follow-up, added before: even if it has ended since.

    A user may have given it another action since.
    """
    is_or_was = there.action == new.action or there.rev > 1
    return is_or_was and (there.id, there.created_at) == (new.id, new.created_at)
