"""Checks tasks by what the worker says of itself, before they are stored."""

import logging
from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec.structs import replace

from duebell_shared.backend import Backend
from duebell_shared.errors import DuebellError, InvalidTask
from duebell_shared.payloads.json_schema import ignored_field, misfit, with_any
from duebell_shared.payloads.payload import of_task
from duebell_shared.quoting import did_you_mean, quoted
from duebell_shared.tasks.checks import is_reserved
from duebell_shared.tasks.follow_up import no_result_of
from duebell_shared.tasks.task import Task
from duebell_shared.tasks.task_warnings import DoubtfulPayload, UnknownAction, warn_user
from duebell_shared.tasks.worker_record import WorkerDescription, WorkerRecord

_LOG = logging.getLogger("duebell.editor")

#: The worker record is read no sooner again, unless a task would be refused.
_FRESH = timedelta(minutes=1)

#: Names of actions in a message.
_MOST_NAMES = 10


class _Problem(NamedTuple):
    """A doubt about a task.

    warning   its category; None if the task is refused instead
    will_run  true if the task runs all the same, so that it is never refused
    """

    error: InvalidTask
    warning: type[UserWarning] | None = None
    will_run: bool = False


class KnownWorker:
    """Checks tasks by what the worker says of itself, read once a minute and again before one is refused.

    A payload that cannot fit its type is refused. If the type may convert the payload, or leaves out one of
    its fields, there is a warning.

    While nothing is known, every task is right. Nothing is known before the first worker has started, while a
    new one is starting or could not, and if the record cannot be read.
    """

    def __init__(self, backend: Backend) -> None:
        self._store = backend.store
        self._clock = backend.clock
        self._is_strict = backend.settings.strict_actions
        self._record: WorkerRecord | None = None
        self._read_at: datetime | None = None
        self._missing: set[str] = set()  # actions that a strongly consistent read of the record did not find
        self._is_told = False

    def check_all(self, task: Task, payload: object) -> None:
        """`check` the task and its follow-ups; `on_failed` with this task as if it had failed."""
        self.check(task, payload)
        if task.then:
            told, gets = task.then.payload, task.then.result_as or None
            told = {**told, gets: None} if gets else told
            following = replace(task, action=task.then.action, payload_json=of_task(told), then=None)
            self.check(following, told, within="then", gets=gets)
        if task.on_failed:
            error = {"type": "Exception", "message": "it has failed"}
            failed = task.told_as_failed(due=task.due, attempts=1, at=task.due, error=error)
            hearing = replace(task, action=task.on_failed, payload_json=of_task(failed), then=None)
            self.check(hearing, None, within="on_failed")

    def check(self, task: Task, payload: object, *, within: str = "", gets: str | None = None) -> None:
        """Warn of an action that the worker does not have, or refuse it if actions are strict.

        Warns of a field of the payload, as it was given, that its type leaves out: the task will run.
        Raises InvalidTask, for a payload that does not fit its action's schema, too. `within` is the field
        that the task is described in, and `gets` that of its payload whose value comes later.
        """
        if is_reserved(task.action):
            return
        now = self._clock()
        if self._read_at is None or not timedelta(0) <= now - self._read_at < _FRESH:
            self._read(now, consistent=False)
        problem = self._problem(task, payload, gets)
        if problem is None:
            return
        if problem.warning is not UnknownAction or task.action not in self._missing:
            self._read(now, consistent=True)  # a new version may have been deployed
            problem = self._problem(task, payload, gets)
        if problem is None:
            return
        error = problem.error
        if within:
            field = f"{within}.{error.field}" if within == "then" else within
            is_told = within == "on_failed" and error.field.startswith("payload")
            reason = f"its payload cannot hold a failed task: {error.reason}" if is_told else error.reason
            error = InvalidTask(field, reason)
        if problem.warning is None or (self._is_strict and not problem.will_run):
            raise error
        if problem.warning is UnknownAction:
            self._missing.add(task.action)
        warn_user(error, problem.warning)

    def _problem(self, task: Task, payload: object, gets: str | None) -> _Problem | None:
        worker = self._record.known if self._record else None
        if self._record is None or worker is None:
            return None
        action = worker.action(task.action)
        if action is None:
            return _Problem(_unknown(task.action, worker), UnknownAction)
        if task.then and task.then.result_as and not action.keeps_result:
            return _Problem(no_result_of(action.name))
        if not action.schema or task.payload_dropped is not None:
            return None
        schema = with_any(gets, action.schema) if gets else action.schema
        if error := misfit(task.payload_json, schema, action.name):
            return _Problem(error, DoubtfulPayload if action.converts else None)
        ignored = ignored_field(payload, task.payload_json, schema, action.name)
        return _Problem(ignored, DoubtfulPayload, will_run=True) if ignored else None

    def _read(self, now: datetime, *, consistent: bool) -> None:
        self._read_at, self._record, self._missing = now, None, set()
        try:
            self._record = self._store.read(WorkerRecord, consistent=consistent)
        except DuebellError as error:
            level = logging.DEBUG if self._is_told else logging.WARNING
            _LOG.log(level, "actions and payloads are not checked, as the worker is unknown: %s", error)
            self._is_told = True


def check_is_known(action: str, record: WorkerRecord | None) -> None:
    """Raise InvalidTask for an action that the worker does not have, as far as that is known."""
    worker = record.known if record else None
    if worker and not worker.action(action):
        raise _unknown(action, worker)


def _unknown(name: str, worker: WorkerDescription) -> InvalidTask:
    """The error for an action that the worker does not have."""
    names = [one.name for one in worker.actions]
    known = ", ".join(names[:_MOST_NAMES]) or "none at all"
    more = f" and {len(names) - _MOST_NAMES:,} more" if names[_MOST_NAMES:] else ""
    if near := did_you_mean(name, names):
        way_out = f"{near} It has {known}{more}; if the name is right, deploy a worker that has it"
    else:
        way_out = f"; it has {known}{more}: deploy a worker that has it"
    return InvalidTask("action", f"the worker has no action {quoted(name)}{way_out}")
