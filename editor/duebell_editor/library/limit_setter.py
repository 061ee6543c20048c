"""Limiting actions while the system is running."""

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from duebell_editor.status.action_limits import ActionLimit, action_limit, declared_limit, limit_words
from duebell_shared.backend import Backend
from duebell_shared.errors import AwsError, InvalidTask, NotArmed, NotDeployed, TaskConflict
from duebell_shared.limits.limits import Limit, Limits, Semaphore
from duebell_shared.queue.task_queue import TRIES, not_armed_for
from duebell_shared.quoting import quoted
from duebell_shared.tasks.checks import check_name, is_reserved
from duebell_shared.tasks.worker_record import WorkerRecord

from .known_worker import check_is_known


def set_limit(
    backend: Backend,
    action: str,
    *,
    at_most: int | UnsetType | None,
    per_second: float | UnsetType | None,
    closed: str | UnsetType | None,
    by: str | None,
) -> ActionLimit:
    """Do what `Editor.limit` does, for this author."""
    store = backend.store
    given = {"at_most": at_most, "per_second": per_second, "closed": closed}
    changes = {name: value for name, value in given.items() if value is not UNSET}
    checked = Limit(**changes).checked()  # type: ignore[arg-type]
    check_name("action", action)
    if is_reserved(action):
        raise InvalidTask("action", f"{quoted(action)} is one of duebell's own, and has no limits")
    record = store.read(WorkerRecord)
    for _ in range(TRIES):
        limits = store.read(Limits)
        known = limits or Limits()
        before = known.overrides.get(action)
        if not before:
            check_is_known(action, record)
        wanted = replace(Limit().under(before), **{name: getattr(checked, name) for name in changes})
        semaphore, now = store.read(Semaphore, action), backend.clock()
        line = max(semaphore.line, semaphore.late) if semaphore else now
        declared, line_end = declared_limit(action, record), line if line > now else None
        changed = known.changed(action, wanted, now=now, declared=declared, line=line_end, by=by)
        stored = limits if changed == known else store.swap(limits, changed)
        if stored or changed == known:
            if stored:
                if changed != known:
                    words = limit_words(wanted.at_most, wanted.per_second, wanted.closed)
                    detail = words if wanted.is_any else "as declared"
                    backend.audit.note("limit", by, action=action, detail=detail)
                _wake_runs(backend, stored.rev)
            return action_limit(action, record, stored or known)
    raise TaskConflict("the limits keep changing: try again")


def _wake_runs(backend: Backend, rev: int) -> None:
    """Make runs read the limits and the queue, also after no change: an earlier call may have failed."""
    armer = backend.armer
    try:
        record = armer.ensure(armer.change(lambda record: record.limited(rev, now=backend.clock())))
    except (AwsError, NotArmed, NotDeployed) as error:
        raise not_armed_for("the limit is stored", error) from error
    backend.armer.start_run_if_late(record)
