"""The registration of a worker in its queue: its description, or why it could not start.

The start of a bundle costs one read. It writes only if the record differs, as after a deployment.
"""

import hashlib
import json
import os
import platform
import uuid
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import UNSET
from msgspec.structs import asdict, replace

from duebell_shared.backend import Backend
from duebell_shared.errors import DuebellError
from duebell_shared.schedules.zones import TZDATA_VERSION
from duebell_shared.tasks.worker_record import (
    ActionDescription,
    DeclaredTask,
    WorkerDescription,
    WorkerRecord,
)
from duebell_worker.actions.action import Action
from duebell_worker.log import LogLine, emit
from duebell_worker.run.attempt import describe_error

#: The file of a bundle that has `version`, a digest of its contents, and `duebell`, the release in it.
BUNDLE_FILE = "duebell-bundle.json"

#: Variables of the set-up that may keep the code from starting.
_SETUP = ("DUEBELL_WORKER", "DUEBELL_DELIVERIES", "DUEBELL_ENVIRONMENT", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE")


class _Bundle(NamedTuple):
    version: str
    duebell: str


#: The version of the code in a process that runs no bundle: each process has a version of its own.
_PROCESS = uuid.uuid4().hex


def version() -> str:
    """A digest of the bundle, or else of the process, and of the set-up."""
    bundle = _bundle()
    told = [platform.python_version(), bundle.version if bundle else _PROCESS]
    told += [os.environ.get(name, "") for name in _SETUP]
    return hashlib.sha256("\0".join(told).encode()).hexdigest()[:12]


def duebell_release() -> str:
    """The release of duebell that runs here."""
    if bundle := _bundle():
        return bundle.duebell
    from importlib import metadata  # noqa: PLC0415 (a bundle does not load it)

    try:
        return metadata.version("duebell")
    except metadata.PackageNotFoundError:  # run from its sources
        return "not installed as a package"


@cache
def _bundle() -> _Bundle | None:
    file = Path(__file__).parents[2] / BUNDLE_FILE
    return _Bundle(**json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else None


#: Tries of a write, when other starts write first.
_TRIES = 3


class Registration:
    """One start of a worker, written to the worker record. No method raises: a worker runs without it too."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._mark = WorkerDescription(
            version=version(),
            duebell=duebell_release(),
            python=platform.python_version(),
            tzdata=TZDATA_VERSION,
            started_at=backend.clock(),
        )
        self._record = self._read(consistent=False)

    def begin(self) -> None:
        """Before the code is imported: unless this version is known to start, mark it, and arm the rule.

        If the process exits, hangs or runs out of memory, an echo of the rule starts the next process. That
        process sets the rule again.
        """
        if self._record and self._record.has_started(self._mark.version):
            return
        self._write(lambda record: record.begun(self._mark))
        self._arm()

    def succeed(self, actions: Mapping[str, Action[..., Any]], declared: Iterable[DeclaredTask]) -> None:
        """After the import: write the worker's description."""
        tasks = tuple(declared)
        described = tuple(
            ActionDescription(
                name=name,
                attempts=action.attempts,
                schema=action.schema(),
                converts=action.converts,
                recurring=tuple(task.id for task in tasks if task.action == name),
                **asdict(action.limit),
                stoppable=True if action.stoppable else UNSET,
                keeps_result=True if action.keep_result else UNSET,
                timeout=action.timeout.total_seconds() if action.timeout else UNSET,
                **_kind_of(action),
            )
            for name, action in sorted(actions.items())
        )
        worker = replace(self._mark, actions=described)
        self._write(lambda record: record.started(worker, tasks))

    def fail(self, error: BaseException) -> None:
        """After an import that failed: write the error, and arm the rule, so that it rings for a next try."""
        failure = describe_error(error)
        emit(LogLine.WORKER_DID_NOT_START, error=f"{failure.type}: {failure.message}")
        self._write(lambda record: record.failed(self._mark, failure))
        self._arm()

    def _read(self, *, consistent: bool) -> WorkerRecord | None:
        """The record; None if there is none, or it cannot be read."""
        try:
            return self._backend.store.read(WorkerRecord, consistent=consistent)
        except DuebellError as error:
            emit(LogLine.WORKER_NOT_REGISTERED, error=str(error))
            return None

    def _write(self, change: Callable[[WorkerRecord], WorkerRecord]) -> None:
        """Write the record with this change by compare-and-swap, if it changes anything."""
        for _ in range(_TRIES):
            changed = change(self._record or WorkerRecord())
            if self._record and changed == self._record:
                return
            try:
                if swapped := self._backend.store.swap(self._record, changed):
                    self._record = swapped
                    return
            except DuebellError as error:
                emit(LogLine.WORKER_NOT_REGISTERED, error=str(error))
                return
            self._record = self._read(consistent=True)

    def _arm(self) -> None:
        try:
            self._backend.armer.ensure()
        except DuebellError as error:
            emit(LogLine.NOT_ARMED, error=str(error))


def _kind_of(action: Action[..., Any]) -> dict[str, Any]:
    """The kind and target of a delivery, as fields of the description; none for a function."""
    target = action.delivery and action.delivery.target
    return {"kind": str(target.kind), "to": target.shown} if target else {}
