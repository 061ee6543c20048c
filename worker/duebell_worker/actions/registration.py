"""The registration of a worker in its queue: what it is, or why it could not start.

A start costs one read. It writes only if the record says something else, as after a deployment.
"""

import logging
import platform
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from duebell_shared.backend import Backend
from duebell_shared.errors import DuebellError
from duebell_shared.schedules.zones import TZDATA_VERSION
from duebell_shared.tasks.worker_record import (
    ActionDescription,
    DeclaredTask,
    WorkerDescription,
    WorkerRecord,
)
from duebell_worker.log import emit
from duebell_worker.run.outcome import describe_error

from .action import Action
from .version import duebell_release, version_of

__all__ = ["Registration"]

#: Writes are tried again when other starts get in first.
_TRIES = 3


class Registration:
    """One start of a worker, written to the worker record. No method raises: a worker runs without it too.

    backend  the queue, and the armer of its rule
    modules  the modules that the worker's code is in, by which its version is told
    """

    def __init__(self, backend: Backend, modules: Iterable[str]) -> None:
        self._backend = backend
        self._mark = WorkerDescription(
            version=version_of(modules),
            duebell=duebell_release(),
            python=platform.python_version(),
            tzdata=TZDATA_VERSION,
            started_at=backend.clock(),
        )
        self._record = self._read(consistent=False)

    def begin(self) -> None:
        """Before the code is imported: unless this version is known to start, mark it, and arm the rule.

        The process may exit, hang or run out of memory, and then nothing in it arms the rule any more. The
        rule's echo starts the next process, and that arms it here.
        """
        if self._record and self._record.has_started(self._mark.version):
            return
        self._write(lambda record: record.begun(self._mark))
        self._arm()

    def succeed(self, actions: Mapping[str, Action[..., Any]], declared: Iterable[DeclaredTask]) -> None:
        """After the import: write what the worker is."""
        tasks = tuple(declared)
        described = tuple(
            ActionDescription(
                name=name,
                attempts=action.attempts,
                schema=action.schema(),
                converts=action.converts,
                recurring=tuple(task.id for task in tasks if task.action == name),
                at_most=action.limit.at_most,
                per_second=action.limit.per_second,
                **_kind_of(action),
            )
            for name, action in sorted(actions.items())
        )
        worker = replace(self._mark, actions=described)
        self._write(lambda record: record.started(worker, tasks))

    def fail(self, error: BaseException) -> None:
        """After an import that failed: write the error, and arm the rule, so that it rings for a next try."""
        failure = describe_error(error)
        emit("worker_did_not_start", level=logging.ERROR, error=f"{failure.type}: {failure.message}")
        self._write(lambda record: record.failed(self._mark, failure))
        self._arm()

    def _read(self, *, consistent: bool) -> WorkerRecord | None:
        """The record; None if there is none, or it cannot be read."""
        try:
            return self._backend.store.read_worker(consistent=consistent)
        except DuebellError as error:
            emit("worker_not_registered", level=logging.WARNING, error=str(error))
            return None

    def _write(self, change: Callable[[WorkerRecord], WorkerRecord]) -> None:
        """Write the record with this change, if it is one, by compare-and-swap."""
        for _ in range(_TRIES):
            changed = change(self._record or WorkerRecord())
            if self._record and changed == self._record:
                return
            try:
                if swapped := self._backend.store.swap_worker(self._record, changed):
                    self._record = swapped
                    return
            except DuebellError as error:
                emit("worker_not_registered", level=logging.WARNING, error=str(error))
                return
            self._record = self._read(consistent=True)

    def _arm(self) -> None:
        try:
            self._backend.armer.ensure()
        except DuebellError as error:
            emit("not_armed", level=logging.ERROR, error=str(error))


def _kind_of(action: Action[..., Any]) -> dict[str, Any]:
    """The kind and target of a delivery, as fields of the description; none for a function."""
    target = action.delivery and action.delivery.target
    return {"kind": str(target.kind), "to": target.shown} if target else {}
