"""The worker record: the worker's description of itself, in one item beside the arming record.

A worker writes it when it starts: its description, or why it could not start. New code is marked as starting
before it is imported. So an import that exits or hangs is noticed.
"""

from datetime import datetime, timedelta
from typing import Any, Self

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from duebell_shared.instants import NO_TIME, Instant, to_json

from .follow_up import FollowUp
from .history import Failure, bounded

#: Bytes of a description with schemas, as JSON: an editor reads it once a minute.
MOST_BYTES = 64 * 1024

#: The schema in place of one that is left out: it allows every payload.
_LEFT_OUT = {"$comment": "left out: the schemas of this worker take more than 64 KB"}

#: A start that takes longer than this counts as lost, unless it ends later after all.
_STARTS_WITHIN = timedelta(minutes=1)

_LOST = Failure(
    type="StartLost",
    message="the worker did not finish its import: it exited, hung or ran out of memory",
)


class ActionDescription(msgspec.Struct, frozen=True, kw_only=True):
    """An action of the worker.

    name       its name, which a task gives as its `action`
    attempts   the most attempts at a task
    schema     the JSON Schema of its payload; None if it takes none
    converts   whether its type may convert a payload that does not fit the schema, as pydantic's do
    recurring  ids of the recurring tasks that are declared for it in code
    kind       `function`, or the kind of a delivery's target, such as `queue`: see Kind
    at_most, per_second, closed  the limits that it declares; None for none
    timeout    seconds that an attempt may take; unset if any time
    stoppable  true if its running attempts are told to stop; else unset
    keeps_result  true if its return value is kept; else unset
    to         the ARN that a delivery is sent to, or scheme and host of its URL; None for a function
    """

    name: str
    attempts: int
    schema: dict[str, Any] | None = None
    converts: bool = False
    recurring: tuple[str, ...] = ()
    kind: str = "function"
    to: str | None = None
    at_most: int | None = None
    per_second: float | None = None
    closed: str | None = None
    timeout: float | UnsetType = UNSET
    stoppable: bool | UnsetType = UNSET
    keeps_result: bool | UnsetType = UNSET


class WorkerDescription(msgspec.Struct, frozen=True, kw_only=True):
    """The worker as it made itself known when it started. Times are UTC.

    version     a digest of its code and of its set-up
    duebell     the release of duebell in it
    python      the release of Python
    tzdata      the release of the time zones
    started_at  when this version was started first
    error       why it could not start. `actions` then are those of the version before
    actions     its actions, by name
    """

    version: str
    duebell: str
    python: str
    tzdata: str
    started_at: Instant
    error: Failure | None = None
    actions: tuple[ActionDescription, ...] = ()

    def action(self, name: str) -> ActionDescription | None:
        """The action of this name; None if the worker does not have it."""
        return next((one for one in self.actions if one.name == name), None)


class DeclaredTask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A recurring task that code declares beside its action. The fields are the arguments of `Editor.add`."""

    id: str
    action: str
    schedule: str
    timezone: str | None = None
    calendar: str | None = None
    holidays: str | None = None
    payload_json: str = "{}"
    missed: str | None = None
    spread: timedelta = NO_TIME
    priority: int = 0
    tags: tuple[str, ...] = ()
    on_failed: str | None = None
    then: FollowUp | None = None


class WorkerRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The worker record.

    worker    the description by the start that ended last; None before the first one
    starting  the version whose first start, at its `started_at`, has not ended; None if there is none
    declared  the recurring tasks that the worker's code declares
    rev       the number of changes; stored beside the rest
    """

    worker: WorkerDescription | None = None
    starting: WorkerDescription | None = None
    declared: tuple[DeclaredTask, ...] = ()
    rev: int = 0

    def has_started(self, version: str) -> bool:
        """Tell whether this version has started last, without an error."""
        return self.starting is None and bool(self.known and self.known.version == version)

    @property
    def known(self) -> WorkerDescription | None:
        """The worker, if it works: no new version is starting, and the last start did not fail."""
        return None if self.starting or (self.worker and self.worker.error) else self.worker

    def described(self, now: datetime) -> WorkerDescription | None:
        """The worker's description; with an error if a start has not ended within a minute."""
        if self.starting is None or now - self.starting.started_at < _STARTS_WITHIN:
            return self.worker
        return replace(self.starting, error=_LOST, actions=self._actions)

    def begun(self, mark: WorkerDescription) -> Self:
        """With this version marked as starting. Earlier starts of it that have not ended keep their mark."""
        tried = self.starting or self.worker
        return self if tried and tried.version == mark.version else replace(self, starting=mark)

    def failed(self, mark: WorkerDescription, error: Failure) -> Self:
        """With the error by which this version could not start."""
        return self._ended(replace(mark, error=bounded(error), actions=self._actions))

    def started(self, worker: WorkerDescription, declared: tuple[DeclaredTask, ...]) -> Self:
        """With this worker, which has started; without its schemas if they take too many bytes."""
        if len(to_json(worker)) > MOST_BYTES:
            slim = (replace(one, schema=one.schema and _LEFT_OUT) for one in worker.actions)
            worker = replace(worker, actions=tuple(slim))
        return replace(self._ended(worker), declared=declared)

    @property
    def _actions(self) -> tuple[ActionDescription, ...]:
        return self.worker.actions if self.worker else ()

    def _ended(self, worker: WorkerDescription) -> Self:
        """With this description. If it says the same as before, it keeps its time, and nothing is written."""
        before = self.worker
        if before and worker == replace(before, started_at=worker.started_at):
            worker = before
        return replace(self, worker=worker, starting=None)
