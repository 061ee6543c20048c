"""Adds the follow-ups of tasks that have ended, and tells those tasks what became of them."""

import logging
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any
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
from duebell_shared.tasks.follow_up import Cause, Owed
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.task import Task, queue_key
from duebell_worker.run.context import RunContext
from duebell_worker.run.lanes import Lanes

if TYPE_CHECKING:
    from duebell_shared.queue.task_queue import Queue, RuleSetter

#: A follow-up that could not be added is tried again after this time.
_AGAIN = timedelta(minutes=1)

#: Tasks of a batch that are counted by one transaction, and tries of it; seconds between the first two.
_COUNTED_AT_ONCE, _TRIES, _PAUSE = MOST_WRITES - 1, 5, 0.05

#: Errors that no further try would mend.
_FOR_GOOD = (InvalidTask, QueueFull, TaskExists)


class FollowUps:
    """The follow-ups of one run. Thread-safe."""

    def __init__(self, context: RunContext, lanes: Lanes) -> None:
        self._context = context
        self._lanes = lanes

    def add(self, owing: Sequence[Task]) -> list[Task]:
        """Add the follow-ups of these tasks; return the tasks as they are then. Raises nothing.

        A task whose follow-up can never be added goes on without, and says why. One that still owes it, as a
        call failed, says why as well, and is tried again in a minute.
        """
        try:
            return self._add(owing)
        except Exception as error:  # noqa: BLE001 (a bug of ours: the run still waits for these attempts)
            for task in owing:
                self._log(task, error)
                self._lanes.trouble.skip(queue_key(task), until=self._context.now() + _AGAIN)
            return self._noted(owing, [error] * len(owing))

    def _add(self, owing: Sequence[Task]) -> list[Task]:
        results = self._results(owing)
        added = {
            task.id: str(result) if isinstance(result, Exception) else None
            for task, result in zip(owing, results, strict=True)
            if isinstance(result, (Task, *_FOR_GOOD))
        }
        counted, taken = self._counted([task for task in owing if task.id in added])
        finished = [(task, task.follow_up_settled(added[task.id])) for task in counted]
        keep = self._context.backend.settings.retention_policy
        saved = self._lanes.save([(old, new if new.is_kept(keep) else None) for old, new in finished])
        is_saved = {**taken, **{old.id: one for (old, _), one in zip(finished, saved, strict=True)}}
        for task, result in zip(owing, results, strict=True):
            self._log(task, result)
            if not isinstance(is_saved.get(task.id), bool):  # it is False if someone else has finished it
                self._lanes.trouble.skip(queue_key(task), until=self._context.now() + _AGAIN)
        now_stored = {old.id: new for old, new in finished if is_saved[old.id] is True}
        return self._noted([now_stored.get(task.id, task) for task in owing], results)

    def _counted(
        self, tasks: Sequence[Task]
    ) -> tuple[Sequence[Task], Mapping[str, bool | BaseException | None]]:
        """Count the ends of these tasks in their batches, if they have one.

        Returns the tasks that can leave the queue now. Each of the others comes with False, if someone has
        changed it, or with the error.
        """
        counted = [task for task in tasks if task.batch is None]
        taken: dict[str, bool | BaseException | None] = {}
        of_batches: dict[str, list[Task]] = {}
        for task in tasks:
            if task.batch is not None:
                of_batches.setdefault(task.batch, []).append(task)
        for id, members in of_batches.items():
            for first in range(0, len(members), _COUNTED_AT_ONCE):
                left = {task.id: task for task in members[first : first + _COUNTED_AT_ONCE]}
                try:
                    self._count(id, left, taken)
                    counted += left.values()
                except DuebellError as error:
                    taken |= dict.fromkeys(left, error)
        return counted, taken

    def _count(self, id: str, left: dict[str, Task], taken: dict[str, bool | BaseException | None]) -> None:
        """Count these tasks in their batch, and set the rule for the batch if they were its last.

        Problem: a process may die between these two. Solution: one transaction counts the tasks and marks
        them as counted, and they stay in the queue. The next run then finds them, and sets the rule.
        Raises DuebellError. `taken` gets those that someone else has changed.
        """
        store, keep = self._context.backend.store, self._context.backend.settings.retention_policy
        for number in range(1, _TRIES + 1):
            batch = self._queue.get(id)
            new = [task for task in left.values() if not task.counted]
            if batch is None or not batch.is_blocked or not new:
                if batch:
                    self._rule.arm([batch])
                return
            after = batch.with_ended([task.status for task in new], now=self._context.now(), keep=keep)
            writes = [TaskWrite(batch, after), *(TaskWrite(task, task.as_counted()) for task in new)]
            refusals = store.transact(writes, token=uuid4().hex).refusals
            if not refusals:
                left |= {task.id: task.as_counted() for task in new}
                self._rule.arm([after])
                return
            for refusal in refusals:
                if refusal.index and refusal.code == "ConditionalCheckFailed":
                    taken[new[refusal.index - 1].id] = False
                    del left[new[refusal.index - 1].id]
            self._context.backend.sleep(number * _PAUSE)
        raise TaskConflict(f"batch {quoted(id)} kept changing while its tasks were counted")

    def _noted(self, tasks: Sequence[Task], results: Sequence[Task | Exception]) -> list[Task]:
        """Have those that still owe say why, and return them all.

        That costs a write only when the reason is a new one. If the write fails too, the log has the reason.
        """
        after = [
            task.follow_up_failed(_said(result)) if task.owes and isinstance(result, Exception) else task
            for task, result in zip(tasks, results, strict=True)
        ]
        changes = [(old, new) for old, new in zip(tasks, after, strict=True) if old is not new]
        saved = self._lanes.save(changes) if changes else []
        unsaved = {old.id: old for (old, _), one in zip(changes, saved, strict=True) if one is not True}
        return [unsaved.get(task.id, task) for task in after]

    def _results(self, owing: Sequence[Task]) -> list[Task | Exception]:
        """Add the follow-ups of these tasks; return each as it is stored, or why it could not be."""
        results: dict[int, Task | Exception] = {
            place: task for place, task in enumerate(owing) if task.owes and not task.owes.action
        }
        left = {place: task for place, task in enumerate(owing) if place not in results}
        try:
            for ending in (0, 1):
                made = {place: _made(task, ending) for place, task in left.items()}
                results |= made
                results |= self._inserted(
                    {place: one for place, one in made.items() if isinstance(one, Task)}
                )
                left = {place: task for place, task in left.items() if isinstance(results[place], TaskExists)}
        except DuebellError as error:  # it may be that of any; those that were added are known next time
            return [error] * len(owing)
        return [results[place] for place in range(len(owing))]

    def _inserted(self, made: Mapping[int, Task]) -> dict[int, Task | Exception]:
        """Insert these new tasks, and arm the rule for them. Raises what that raises.

        TaskExists in place of one whose id is taken by a task that is another.
        """
        if not made:
            return {}
        from duebell_shared.queue.task_queue import insert_many  # noqa: PLC0415 (few workers need an editor)

        lanes = self._queue.lanes
        new = {place: replace(task, lane=lane_of(task.id, lanes)) for place, task in made.items()}
        ids = {task.id for task in new.values()}
        answers = dict(zip(new, insert_many(self._queue, list(new.values()), ids), strict=True))
        taken = [new[place].id for place, answer in answers.items() if answer is False]
        there = self._queue.get_many(taken) if taken else {}
        ours = {id: task for id, task in there.items() if any(map(partial(_is_same, task), new.values()))}
        added = [new[place] for place, answer in answers.items() if answer is True]
        deleted = {task.id for task in self._rule.arm_added(added, lanes)}
        self._rule.arm(list(ours.values()))

        def result(task: Task, answer: bool | DuebellError) -> Task | Exception:
            if isinstance(answer, DuebellError):
                return answer
            if answer and task.id not in deleted:
                return task
            if task.id in ours:
                return ours[task.id]
            if task.id in there or self._is_unreadable(task.id):
                return TaskExists(task.id)
            # Deleted since, or stored in another lane: that is found out the next time.
            return TaskConflict(f"{quoted(task.id)} changed")

        return {place: result(task, answers[place]) for place, task in new.items()}

    def _is_unreadable(self, id: str) -> bool:
        """Tell whether something has this id that this version cannot read: then it is taken for good."""
        try:
            self._queue.get(id)
        except UnreadableTask:
            return True
        return False

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
                "follow_up_added", id=task.id, action=task.action, follow_up=result.id, adds=result.action
            )
            return
        event = "follow_up_refused" if isinstance(result, _FOR_GOOD) else "follow_up_not_added"
        self._context.log(event, level=logging.ERROR, id=task.id, error=_said(result))


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
    new, told = partial(new, due=owed.at, on_failed=""), _report_of(task, owed)
    try:
        return check_size(new(payload=told))
    except InvalidTask as error:
        if error.field != "payload":
            raise
    del told["payload"]
    return new(payload=told)


def _report_of(task: Task, owed: Owed) -> dict[str, Any]:
    """The failed task as its follow-up is told of it; its payload is left out if that makes it too large."""
    error = {"type": task.failure.type, "message": task.failure.message} if task.failure else None
    return task.told_as_failed(due=owed.due, attempts=owed.attempts, at=owed.at, error=error)


def _is_same(there: Task, new: Task) -> bool:
    """Tell whether the stored task is this follow-up, added before: even if it has ended since.

    A user may have given it another action since.
    """
    is_or_was = there.action == new.action or there.rev > 1
    return is_or_was and (there.id, there.created_at) == (new.id, new.created_at)
