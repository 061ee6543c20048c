"""Why a task has not started yet, or why it started late: one sentence, and the figures behind it."""

from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from duebell_shared.backend import Backend
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.instants import MILLISECOND, MOST_SKEW, Instant, ceil_to_minute, render
from duebell_shared.limits.limits import Limits
from duebell_shared.quoting import quoted
from duebell_shared.tasks.lateness import Lateness, in_words
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import Task, queue_key

from .action_limits import ActionLimit, action_limit, in_line
from .health import Problem, ProblemKind
from .status import read_status


class WaitCause(StrEnum):
    """The cause of a wait, for programs."""

    NOT_DUE = "not_due"
    RETRY = "retry"
    SNOOZED = "snoozed"
    LIMIT = "limit"
    ACTION_PAUSED = "action_paused"
    PAUSED = "paused"
    RESERVED = "reserved"
    RING = "ring"
    LOST_RING = "lost_ring"
    SCHEDULER = "scheduler"
    LANE = "lane"
    IN_LINE = "in_line"
    NO_RUN = "no_run"
    CLOCK = "clock"
    RUNNING = "running"
    FOLLOW_UP = "follow_up"
    STARTED = "started"
    NEVER_STARTED = "never_started"


class Why(msgspec.Struct, frozen=True, kw_only=True):
    """What a task waits for, or waited for.

    cause         its kind, for programs
    what          it in a sentence
    way_out       what to do about it; empty if nothing is wrong
    starts_by     when it starts at the latest, if nothing is in trouble; None if it does not wait for a start
    is_late       whether it should have started by now
    before        tasks that the run at work starts before it; None where that is not the cause
    attempts_ms   of the last attempt: from its due date until it was tried again, moved or put off
    lateness      of the last attempt: the parts of what followed, in milliseconds; None below a second
    is_estimated  whether these parts were not measured: an older version ran it
    """

    id: str
    cause: WaitCause
    what: str
    way_out: str = ""
    starts_by: Instant | None = None
    is_late: bool = False
    before: int | None = None
    attempts_ms: int = 0
    lateness: Lateness | None = None
    is_estimated: bool = False


#: The problems that keep a due task waiting, whichever it is.
_STOPS_ALL = {
    ProblemKind.WORKER,
    ProblemKind.RULE,
    ProblemKind.DISABLED,
    ProblemKind.NO_TARGET,
    ProblemKind.HELD_TOO_LONG,
    ProblemKind.RULE_ELSEWHERE,
}

#: Tasks that are counted before one that waits for its turn, in each lane.
_MOST_COUNTED = 1_000


def explain(backend: Backend, task: Task) -> Why:
    """Tell why the task waits, or how late it started. Raises AwsRefused, AwsUnavailable, NotDeployed."""
    now, record = backend.clock(), backend.armer.read()
    if not task.queued or task.status is not Status.SCHEDULED or task.owes:
        return _not_waiting(task, record, now)
    limits = (backend.store.read_limits() if record.limits else None) or Limits()
    worker = backend.store.read_worker(consistent=True)
    limit = action_limit(task.action, worker, limits)
    attempts = worker.worker.action(task.action) if worker and worker.worker else None
    found = (
        _of_limit(backend, task, limit, now)
        or (_to_come(task, attempts.attempts if attempts else None) if task.queued > now else None)
        or _of_clock(task, record, now)
        or _of_scheduler(backend, task, record, now)
    )
    is_late = task.starts_by is not None and task.starts_by < now
    return msgspec.structs.replace(found, starts_by=task.starts_by, is_late=is_late)


def _not_waiting(task: Task, record: ArmingRecord, now: datetime) -> Why:
    """Explain a task that does not wait for a start: it runs, is paused or reserved, or is over."""
    if task.owes:
        what = f"it ended at {render(task.owes.at)}, and its follow-up is being added"
        failed = f": the last try failed: {task.follow_up_error}" if task.follow_up_error else ""
        return Why(id=task.id, cause=WaitCause.FOLLOW_UP, what=what + failed)
    if task.status is Status.PAUSED:
        return Why(
            id=task.id,
            cause=WaitCause.PAUSED,
            what=f"it is paused{_by(task.changed_by)}, and waits until it is resumed",
            way_out=f"`duebell resume {task.id}`",
        )
    if task.status is Status.RESERVED:
        until = f" until {render(task.reserved_until)}" if task.reserved_until else ""
        return Why(
            id=task.id,
            cause=WaitCause.RESERVED,
            what=f"it is reserved: it waits for its transaction to be committed{until}",
        )
    if task.status is Status.RUNNING and task.started_at:
        lane = record.lanes[task.lane] if task.lane < len(record.lanes) else None
        has_died = lane is not None and lane.is_free(now)
        what = f"attempt {task.attempt} runs since {render(task.started_at)}, in run {task.run}"
        return Why(
            id=task.id,
            cause=WaitCause.RUNNING,
            what=f"{what}; that run has ended without its result, so the next run tries it again"
            if has_died
            else what,
        )
    if task.started_at is None:
        what = f"it is {task.status}, and was never started"
        return Why(id=task.id, cause=WaitCause.NEVER_STARTED, what=what)
    return _started(task, task.started_at)


def _started(task: Task, started_at: datetime) -> Why:
    """Explain the lateness of the last attempt, of the occurrence that it was made at."""
    due = task.last.due if task.recurrence and task.last else task.due
    late = timedelta(milliseconds=task.lateness_ms or 0)
    queued = started_at - late
    attempts_ms = max((queued - due) // MILLISECOND, 0)
    parts, is_estimated = task.lateness, False
    if parts is None and late >= timedelta(seconds=1):
        is_estimated = True
        rounding = min((ceil_to_minute(queued) - queued) // MILLISECOND, task.lateness_ms or 0)
        parts = Lateness(rounding=rounding, queue=(task.lateness_ms or 0) - rounding)
    total = attempts_ms + (task.lateness_ms or 0)
    words = [f"{attempts_ms / 1000:,.1f} s until it was queued for that attempt"] if attempts_ms else []
    if parts:
        words.append(in_words(msgspec.structs.asdict(parts).items()))
    told = f": {', '.join(words)}{' (estimated)' if is_estimated else ''}" if words else ""
    return Why(
        id=task.id,
        cause=WaitCause.STARTED,
        what=f"its last attempt started at {render(started_at)}, {total / 1000:,.1f} s after it was due"
        f"{told}",
        attempts_ms=attempts_ms,
        lateness=parts,
        is_estimated=is_estimated,
    )


def _of_limit(backend: Backend, task: Task, limit: ActionLimit, now: datetime) -> Why | None:
    """Explain a wait for the limit of its action; None if it waits for something else."""
    if limit.paused:
        since = f" since {render(limit.since)}" if limit.since else ""
        what = f"its action {quoted(task.action)} is paused{since}{_by(limit.changed_by)}"
        way_out = f"`duebell limit {task.action} --as-declared`, or another limit, lets it go on"
        return Why(id=task.id, cause=WaitCause.ACTION_PAUSED, what=what, way_out=way_out)
    if task.limited_since is None or task.queued is None:
        return None
    told = [
        f"{limit.at_most} at a time" if limit.at_most is not None else "",
        f"{limit.per_second:g} a second" if limit.per_second is not None else "",
    ]
    of = f" ({', '.join(filter(None, told))})" if any(told) else ""
    what = (
        f"it waits for the limit of its action {quoted(task.action)}{of} since {render(task.limited_since)}, "
        f"with about {in_line(backend, task.action, now):,} tasks in line; its turn is expected at "
        f"{render(task.queued)}"
    )
    return Why(id=task.id, cause=WaitCause.LIMIT, what=what)


def _to_come(task: Task, attempts: int | None) -> Why | None:
    """Explain a task whose time is to come."""
    if task.queued is None:
        return None
    at = render(task.queued)
    if task.failure and task.attempt:
        of = f" of {attempts}" if attempts else ""
        what = f"attempt {task.attempt + 1}{of} is at {at}: the last one failed with {task.failure}"
        return Why(id=task.id, cause=WaitCause.RETRY, what=what)
    if task.snoozes:
        return Why(id=task.id, cause=WaitCause.SNOOZED, what=f"its action has put it off until {at}")
    spread = f", {task.queued - task.due} after its due date, by its spread" if task.queued > task.due else ""
    return Why(
        id=task.id, cause=WaitCause.NOT_DUE, what=f"its time is to come: {at}{spread if task.spread else ''}"
    )


def _of_clock(task: Task, record: ArmingRecord, now: datetime) -> Why | None:
    """Explain a wrong clock of this machine: by it, a run ended or the task was added in the future."""
    newest = max(task.created_at, record.last_run.finished_at if record.last_run else task.created_at)
    if newest <= now + MOST_SKEW:
        return None
    what = f"this machine's clock says {render(now)}, and the queue was changed at {render(newest)}"
    return Why(id=task.id, cause=WaitCause.CLOCK, what=what, way_out="set the clock of this machine")


def _of_scheduler(backend: Backend, task: Task, record: ArmingRecord, now: datetime) -> Why:
    """Explain why a task that is due was not started yet."""
    problems = {one.kind: one for one in read_status(backend).problems}
    if stop := next((one for kind, one in problems.items() if kind in _STOPS_ALL), None):
        return _problem(task, WaitCause.SCHEDULER, stop)
    last, lane = record.last_run, record.lanes[task.lane] if task.lane < len(record.lanes) else None
    if last and task.lane in {one.lane for one in last.resting}:
        return _problem(task, WaitCause.LANE, problems[ProblemKind.LANE_RESTS])
    if lane and not lane.is_free(now):
        before = _count_before(backend, task, len(record.lanes), now)
        what = f"a run is at work, and about {before:,} tasks are before it"
        return Why(id=task.id, cause=WaitCause.IN_LINE, what=what, before=before)
    if lost := problems.get(ProblemKind.NOT_ARMED) or problems.get(ProblemKind.LEASE_EXPIRED):
        return _problem(task, WaitCause.LOST_RING, lost)
    if record.rings_at and (task.starts_by is None or now <= task.starts_by):
        rings = f"it is due, and the {backend.rule.kind} rings for it by {render(record.rings_at)}"
        return Why(id=task.id, cause=WaitCause.RING, what=rings)
    ran = f"the last one ended at {render(last.finished_at)}" if last else "none has ever run"
    return Why(
        id=task.id,
        cause=WaitCause.NO_RUN,
        what=f"no run has come since it was due: {ran}",
        way_out="`duebell doctor --fix` sets the rule; if no run comes then, look into the worker's log",
    )


def _count_before(backend: Backend, task: Task, lanes: int, now: datetime) -> int:
    """Count the tasks that are due and stand before this one, in all lanes."""
    until = min(queue_key(task).queued - MILLISECOND, now)
    counts = backend.parallel.all(
        lambda lane: backend.store.count(lane, before=until, most=_MOST_COUNTED), range(lanes)
    )
    return sum(counts)


def _problem(task: Task, cause: WaitCause, problem: Problem) -> Why:
    return Why(id=task.id, cause=cause, what=problem.what, way_out=problem.way_out)


def _by(author: str | None) -> str:
    return f" by {author}" if author else ""
