"""Checks tasks against the record of the worker, before they are stored."""

import logging
from datetime import datetime, timedelta

from msgspec.structs import replace

from duebell_shared.backend import Backend
from duebell_shared.errors import DuebellError, InvalidTask
from duebell_shared.payloads.json_schema import payload_error, with_any
from duebell_shared.payloads.payload import of_task
from duebell_shared.quoting import did_you_mean, quoted
from duebell_shared.tasks.checks import is_reserved
from duebell_shared.tasks.follow_up import no_result_of
from duebell_shared.tasks.task import Task
from duebell_shared.tasks.task_warnings import DoubtfulPayload, UnknownAction, warn_user
from duebell_shared.tasks.worker_record import WorkerDescription, WorkerRecord

_LOG = logging.getLogger("duebell.editor")

#: The worker record is read again after this time, or earlier if a task would be refused.
_FRESH = timedelta(minutes=1)


class TaskChecker:
    """Checks tasks against the record of the worker. It is read once a minute, and before a task is refused.

    A payload that cannot fit its type is refused. If the type may convert the payload, there is a warning.

    While nothing is known, every task is right. Nothing is known before the first worker has started, while a
    new one is starting or could not, and if the record cannot be read.
    """

    def __init__(self, backend: Backend) -> None:
        self._store = backend.store
        self._clock = backend.clock
        self._is_strict = backend.settings.strict_actions
        self._record: WorkerRecord | None = None
        self._read_at: datetime | None = None

    def check(self, task: Task) -> None:
        """Check the task or batch, and its follow-ups. `on_failed` is checked with this task as failed.

        Warns of an action that the worker does not have, and of a payload that may not fit; refuses them if
        actions are strict. Raises InvalidTask.
        """
        waiting = task.members if task.members and task.is_blocked else None
        self._check(task, within="then" if waiting else "")
        if waiting and waiting.on_failed:
            self._check(replace(task, action=waiting.on_failed), within="on_failed")
        if task.then:
            told, gets = task.then.payload, task.then.result_as or None
            told = {**told, gets: None} if gets else told
            following = replace(task, action=task.then.action, payload_json=of_task(told), then=None)
            self._check(following, within="then", gets=gets)
        if task.on_failed:
            error = {"type": "Exception", "message": "it has failed"}
            failed = task.told_as_failed(due=task.due, attempts=1, at=task.due, error=error)
            hearing = replace(task, action=task.on_failed, payload_json=of_task(failed), then=None)
            self._check(hearing, within="on_failed")

    def _check(self, task: Task, *, within: str = "", gets: str | None = None) -> None:
        """Check one task.

        within  the field that describes a follow-up; empty for the task itself
        gets    the field of the payload that will get the result of the task before
        """
        if is_reserved(task.action):
            return
        now = self._clock()
        if self._read_at is None or not timedelta(0) <= now - self._read_at < _FRESH:
            self._read(now, consistent=False)
        if self._problem(task, gets) is None:
            return
        self._read(now, consistent=True)  # a new version may have been deployed
        problem = self._problem(task, gets)
        if problem is None:
            return
        error, warning = problem
        if within == "then":
            error = InvalidTask(f"then.{error.field}", error.reason)
        elif within:
            is_told = error.field.startswith("payload")
            held = "the payload of `then` and the counts" if task.is_blocked else "a failed task"
            reason = f"its payload cannot hold {held}: {error}" if is_told else error.reason
            error = InvalidTask(within, reason)
        if warning is None or self._is_strict:
            raise error
        warn_user(error, warning)

    def _problem(self, task: Task, gets: str | None) -> tuple[InvalidTask, type[UserWarning] | None] | None:
        """The error of a task, and the category of its warning; None if there is no error.

        A task that cannot run has no category: it is refused.
        """
        worker = self._record.known if self._record else None
        if self._record is None or worker is None:
            return None
        action = worker.action(task.action)
        if action is None:
            return _unknown(task.action, worker), UnknownAction
        if task.then and task.then.result_as and not action.keeps_result:
            return no_result_of(action.name), None
        if not action.schema or task.payload_dropped is not None:
            return None
        error = payload_error(task.payload_json, with_any(gets, action.schema), action.name)
        return (error, DoubtfulPayload if action.converts else None) if error else None

    def _read(self, now: datetime, *, consistent: bool) -> None:
        self._read_at, self._record = now, None
        try:
            self._record = self._store.read(WorkerRecord, consistent=consistent)
        except DuebellError as error:
            _LOG.warning("actions and payloads are not checked, as the worker is unknown: %s", error)


def check_is_known(action: str, record: WorkerRecord | None) -> None:
    """Raise InvalidTask for an action that the worker does not have, if the worker is known."""
    worker = record.known if record else None
    if worker and not worker.action(action):
        raise _unknown(action, worker)


def _unknown(name: str, worker: WorkerDescription) -> InvalidTask:
    near = did_you_mean(name, [one.name for one in worker.actions])
    way_out = f"{near} If the name is right, deploy" if near else ": deploy"
    return InvalidTask("action", f"the worker has no action {quoted(name)}{way_out} a worker that has it")
