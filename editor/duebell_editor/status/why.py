"""Explains a task in one sentence: the cause of its wait, or the lateness of its last attempt."""

from datetime import datetime
from enum import StrEnum

import msgspec
from msgspec.structs import asdict, replace

from duebell_editor.listing.queue_counts import MOST_COUNTED, overdue_before
from duebell_shared.backend import Backend
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.instants import MILLISECOND, MOST_SKEW, Instant, render
from duebell_shared.limits.limits import Limit, Limits, Semaphore
from duebell_shared.quoting import as_argument, quoted
from duebell_shared.tasks.history import Lateness
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import STARTS_WITHIN, Task
from duebell_shared.tasks.worker_record import WorkerRecord

from .action_limits import ActionLimit, action_limit, in_line, limit_words, pause_of
from .health import Problem, ProblemKind
from .status import read_status, resting_problem


class WaitCause(StrEnum):
    """The cause of a wait, for programs."""

    NOT_DUE = "not_due"
    RETRY = "retry"
    LIMIT = "limit"
    ACTION_PAUSED = "action_paused"
    CLOSED = "closed"
    PAUSED = "paused"
    RESERVED = "reserved"
    BLOCKED = "blocked"
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
    """The explanation of a task's wait, or of the lateness of its last attempt.

    cause      the kind of cause, for programs
    what       the cause in a sentence
    way_out    what to do about it; empty if nothing is wrong
    starts_by  when it starts at the latest, if nothing goes wrong; None if it does not wait for a start, or
               its action is paused
    is_late    whether it should have started by now
    delay_ms   if the task no longer waits: from its due date to the time that its last attempt was queued
               for. Its spread or earlier attempts cause this delay
    lateness   the parts of the last attempt's lateness after `delay_ms`; None if it was less than a second
    """

    id: str
    cause: WaitCause
    what: str
    way_out: str = ""
    starts_by: Instant | None = None
    is_late: bool = False
    delay_ms: int = 0
    lateness: Lateness | None = None


#: The problems that keep every due task waiting.
_STOPS_ALL = {
    ProblemKind.WORKER,
    ProblemKind.RULE,
    ProblemKind.DISABLED,
    ProblemKind.NO_TARGET,
    ProblemKind.HELD_TOO_LONG,
    ProblemKind.RULE_ELSEWHERE,
}

#: Milliseconds: a shorter part would be 0.0 seconds.
_WORTH_SAYING = 50

#: The parts of lateness, in words.
_PARTS = {
    "rounding": "until the full minute",
    "ring": "until the rule rang",
    "start": "until the worker had started",
    "queue": "until its turn in the run",
    "limit": "for the limit of its action",
}


def explain(backend: Backend, task: Task) -> Why:
    """Tell why the task waits, or how late it started. Raises AwsRefused, AwsUnavailable, NotDeployed."""
    now, record = backend.clock(), backend.armer.read()
    if not task.queued or task.status is not Status.SCHEDULED or task.owes:
        return _not_waiting(task, record, now)
    limits = (backend.store.read(Limits) if record.limits else None) or Limits()
    queued = now if limits.released(now).get(task.queued) == task.action else task.queued
    task = replace(task, queued=queued)  # what is released is started by the next run
    worker = backend.store.read(WorkerRecord)
    limit = action_limit(task.action, worker, limits)
    paused = None
    if limit.paused:
        pause, way_out = pause_of(limit)
        paused = Why(id=task.id, cause=WaitCause.ACTION_PAUSED, what=f"its {pause}", way_out=way_out)
    if paused and (task.limited_since or queued <= now):
        found = paused
    elif opens := Limit(closed=limit.closed).closed_until(max(queued, now)):
        found = _and_paused(_of_closed_hours(task, limit, opens), paused)
    elif task.limited_since and queued > now:
        found = _of_limit(backend, task, limit, now)
    elif queued > now:
        action = worker.worker.action(task.action) if worker and worker.worker else None
        found = _and_paused(_to_come(task, queued, action.attempts if action else None), paused)
        if not paused and (limit.at_most or limit.per_second):
            found = replace(found, starts_by=_behind_line(backend, task.action, queued))
    else:
        found = _of_clock(task, record, now) or _of_scheduler(backend, task, record, now)
    starts_by = None if paused else found.starts_by or task.starts_by
    # The status's rule for overdue tasks, counted from the time at which its action can start it.
    is_late = starts_by is not None and starts_by - STARTS_WITHIN < overdue_before(record, now)
    return replace(found, starts_by=starts_by, is_late=is_late, lateness=task.lateness)


def _and_paused(found: Why, paused: Why | None) -> Why:
    """The cause, and that the action is paused, if it is."""
    if not paused:
        return found
    return replace(found, what=f"{found.what}, and {paused.what}", way_out=paused.way_out)


def _not_waiting(task: Task, record: ArmingRecord, now: datetime) -> Why:
    """Explain a task that does not wait for a start: it runs, is paused or reserved, or is over."""
    way_out = ""
    if task.owes:
        cause = WaitCause.FOLLOW_UP
        what = f"it ended at {render(task.owes.at)}, and its follow-up is being added"
    elif task.status is Status.PAUSED:
        cause, way_out = WaitCause.PAUSED, f"`duebell resume {as_argument(task.id)}`"
        by = f" by {task.changed_by}" if task.changed_by else ""
        what = f"it is paused{by}, and waits until it is resumed"
    elif task.status is Status.RESERVED:
        until = f" until {render(task.reserved_until)}" if task.reserved_until else ""
        cause = WaitCause.RESERVED
        what = f"it is reserved: it waits for its transaction to be committed{until}"
    elif task.status is Status.RUNNING and task.started_at:
        cause = WaitCause.RUNNING
        what = f"attempt {task.attempt} runs since {render(task.started_at)}, in run {task.run}"
        if task.lane < len(record.lanes) and record.lanes[task.lane].is_free(now):
            what += "; that run has ended without its result, so the next run tries it again"
    elif task.is_blocked and (members := task.members):
        cause, what = WaitCause.BLOCKED, f"it is a batch, and waits for its tasks: {members.words}"
        close = f"`duebell batch --close {as_argument(task.id)}`: it is open for more tasks"
        way_out = close if members.open else ""
    elif task.started_at is None:
        cause, what = WaitCause.NEVER_STARTED, f"it is {task.status}, and was never started"
    else:
        return _started(task, task.started_at)
    return Why(id=task.id, cause=cause, what=what, way_out=way_out)


def _started(task: Task, started_at: datetime) -> Why:
    """Explain the lateness of the last attempt."""
    lateness_ms = task.lateness_ms or 0
    delay_ms = (started_at - task.due) // MILLISECOND - lateness_ms
    delay_ms = delay_ms if delay_ms >= _WORTH_SAYING else 0  # both are rounded
    parts = asdict(task.lateness).items() if task.lateness else ()
    words = [f"{_seconds(delay_ms)} until the time that it was queued for"] if delay_ms else []
    words += [f"{_seconds(ms)} {_PARTS[name]}" for name, ms in parts if ms >= _WORTH_SAYING]
    is_expired = task.status is Status.EXPIRED
    began = "it expired, because a run reached it at" if is_expired else "its last attempt started at"
    began = f"{began} {render(started_at)}"
    if started_at >= task.due:  # else it was moved since
        began += f", {_seconds(delay_ms + lateness_ms)} after it was due"
    return Why(
        id=task.id,
        cause=WaitCause.NEVER_STARTED if is_expired and not task.attempt else WaitCause.STARTED,
        what=f"{began}: {', '.join(words)}" if words else began,
        delay_ms=delay_ms,
        lateness=task.lateness,
    )


def _seconds(milliseconds: float) -> str:
    """A length of time in words: `1,234.5 s`."""
    return f"{milliseconds / 1000:,.1f} s"


def _of_closed_hours(task: Task, limit: ActionLimit, opens: datetime) -> Why:
    """Explain a task that falls into the closed hours of its action."""
    return Why(
        id=task.id,
        cause=WaitCause.CLOSED,
        what=f"its action {quoted(task.action)} is closed then ({limit.closed}), and opens at "
        f"{render(opens)}",
        way_out=f"`duebell limit --closed HOURS {as_argument(task.action)}` sets other hours, and `--closed "
        "never` opens it",
        starts_by=opens + STARTS_WITHIN,
    )


def _behind_line(backend: Backend, action: str, queued: datetime) -> datetime | None:
    """The latest start of a task behind others at its action's limit; None if none wait at `queued`."""
    semaphore = backend.store.read(Semaphore, action)
    return semaphore.line + STARTS_WITHIN if semaphore and semaphore.line > queued else None


def _of_limit(backend: Backend, task: Task, limit: ActionLimit, now: datetime) -> Why:
    """Explain a wait for the limit of its action."""
    words = limit_words(limit.at_most, limit.per_second, limit.closed)
    return Why(
        id=task.id,
        cause=WaitCause.LIMIT,
        what=f"it waits for the limit of its action {quoted(task.action)} ({words}) since "
        f"{render(task.limited_since or now)}; about {in_line(backend, task.action, now):,} tasks wait, and "
        f"its turn is expected at {render(task.queued or now)}",
    )


def _to_come(task: Task, queued: datetime, attempts: int | None) -> Why:
    """Explain a task that is not due yet."""
    at = render(queued)
    if task.failure and task.attempt:
        of = f" of {attempts}" if attempts else ""
        what = f"attempt {task.attempt + 1}{of} is at {at}: the last one failed with {task.failure}"
        return Why(id=task.id, cause=WaitCause.RETRY, what=what)
    put_off = _seconds((queued - task.due) / MILLISECOND)
    later = f", {put_off} after its due date" if queued > task.due else ""
    return Why(id=task.id, cause=WaitCause.NOT_DUE, what=f"it is not due yet: {at}{later}")


def _of_clock(task: Task, record: ArmingRecord, now: datetime) -> Why | None:
    """Explain a wrong clock of this machine: by it, an end or an add was in the future."""
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
    for rest in last.resting if last else ():
        if rest.lane == task.lane:
            return _problem(task, WaitCause.LANE, resting_problem(rest))
    if lane and not lane.is_free(now):
        before = _count_before(backend, task.queued or now, len(record.lanes))
        what = f"a run is at work, and about {before:,} tasks are before it"
        return Why(id=task.id, cause=WaitCause.IN_LINE, what=what)
    if lost := problems.get(ProblemKind.NOT_ARMED) or problems.get(ProblemKind.LEASE_EXPIRED):
        return _problem(task, WaitCause.LOST_RING, lost)
    if record.rings_at and (task.starts_by is None or now <= task.starts_by):
        rings = f"it is due, and the {backend.rule.kind} rings for it by {render(record.rings_at)}"
        return Why(id=task.id, cause=WaitCause.RING, what=rings)
    rings = f"; the {backend.rule.kind} rings by {render(record.rings_at)}" if record.rings_at else ""
    ran = f"the last one ended at {render(last.finished_at)}" if last else "none has ever run"
    return Why(
        id=task.id,
        cause=WaitCause.NO_RUN,
        what=f"no run has come since it was due: {ran}{rings}",
        way_out="`duebell doctor --fix` sets the rule; if no run comes then, look into the worker's log",
    )


def _count_before(backend: Backend, queued: datetime, lanes: int) -> int:
    """Count the tasks that are due before this time, in all lanes."""
    counts = backend.parallel.all(
        lambda lane: backend.store.count(lane, before=queued - MILLISECOND, most=MOST_COUNTED), range(lanes)
    )
    return sum(counts)


def _problem(task: Task, cause: WaitCause, problem: Problem) -> Why:
    return Why(id=task.id, cause=cause, what=problem.what, way_out=problem.way_out)
