"""The scheduler's status: the rule, the arming record and the heads of the lanes, and their problems."""

import itertools
from collections.abc import Iterable
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import msgspec

from duebell_editor.listing.queue import Queue
from duebell_editor.listing.queue_counts import MOST_COUNTED, next_morning, read_queue
from duebell_shared.backend import Backend
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.bell.bell import BellKind, BellState
from duebell_shared.bell.expression import next_ring
from duebell_shared.bell.run_notes import LastRun, LateRing
from duebell_shared.errors import AwsRefused, NotDeployed
from duebell_shared.instants import NEVER, Instant
from duebell_shared.limits.limits import Limits
from duebell_shared.queue.past_index import Past
from duebell_shared.schedules.zones import TZDATA_VERSION
from duebell_shared.settings import MAX_LANES, Color, Precision
from duebell_shared.tasks.failure import Failure

from .action_limits import ActionLimit, read_limits
from .health import (
    Problem,
    ProblemKind,
    failed_problem,
    failing_problem,
    lane_problems,
    lanes_problem,
    left_by_repair,
    overdue_before,
    owing_problem,
    queue_problems,
    rule_problems,
    tzdata_problem,
    with_worker,
)
from .unknown_actions import find_unknown_actions

__all__ = ["MOST_COUNTED", "Diagnosis", "SchedulerStatus", "after_repair", "read_status"]

_MINUTE = timedelta(minutes=1)


class SchedulerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the scheduler at one moment. Times are UTC.

    name         the scheduler's name; the table's if none was given
    region       the region and the account that the rule is in; empty if it could not be read
    account      see region
    label, color what the environment is called, such as production, and its colour
    table, rule  the names of the table and of the bell
    bell         what the bell is: a rule of EventBridge, or a schedule of EventBridge Scheduler
    expression   the bell's cron expression, as AWS has it; empty if it could not be read
    enabled      whether the bell rings at all
    rings_at     the minute it rings at, or at the latest if it may ring before; None when it is parked
    next_due     when the earliest task in the queue is to run; None when none waits
    owing        tasks that have ended and owe a follow-up, most often for milliseconds; of the first thousand
                 that are due. They do not count as queued or overdue, but for those that recur and go on
    armed        whether the rule is confirmed to be where the queue needs it
    precision    how near to their due date tasks start, as the worker was set up when it last ran
    last_run     the result of the run that ended last; None before the first
    late_ring    the last ring that started no run, until its echo did: its minute, and when the run came;
                 None if there was none
    lanes        partitions of the queue
    lanes_held   the number of lanes that runs hold at this moment
    queued       tasks that wait or run, a recurring one once; at most 1,000, as each of these counts
    running      tasks that run; of the first hundred that are due
    overdue      tasks that have not ended and should have started: they are late by more than three and a
                 half minutes, or due, and the ring for them brought no run
    due_tonight  tasks that are due until `tonight_ends` and not overdue
    tonight_ends the next 06:00 in the time zone that was asked for
    failed       tasks that have failed and are kept; None if the table cannot tell
    failing      recurring tasks whose last occurrence failed; None likewise
    tzdata       this editor's release of the time zones; the worker's is `last_run.tzdata`
    worker_error  why the worker cannot start; None if it can, or never tried
    limited      the actions that are paused, or whose tasks wait for their limits; each with how many wait
    intake_waiting  messages of the intake queue that wait, are in work or come again, as SQS estimates it;
                 None if there is no intake queue, or it may not be looked at
    intake_since  when the oldest of them was sent; only the doctor asks for it, and not all stacks know
    intake_dead_letters  messages of its dead-letter queue, as intake_waiting
    problems     each with what is wrong and the way out; empty when all is well
    """

    table: str
    rule: str
    bell: BellKind = BellKind.RULE
    name: str = ""
    region: str = ""
    account: str = ""
    label: str = ""
    color: Color | None = None
    expression: str = ""
    enabled: bool = False
    rings_at: Instant | None = None
    next_due: Instant | None = None
    armed: bool = False
    precision: Precision = Precision.MINUTE
    last_run: LastRun | None = None
    late_ring: LateRing | None = None
    lanes: int = 0
    lanes_held: int = 0
    queued: int = 0
    owing: int = 0
    running: int = 0
    overdue: int = 0
    due_tonight: int = 0
    tonight_ends: Instant | None = None
    failed: int | None = None
    failing: int | None = None
    tzdata: str = ""
    worker_error: Failure | None = None
    limited: tuple[ActionLimit, ...] = ()
    intake_waiting: int | None = None
    intake_since: Instant | None = None
    intake_dead_letters: int | None = None
    problems: tuple[Problem, ...] = ()

    @property
    def healthy(self) -> bool:
        """True if there are no problems."""
        return not self.problems


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """The thorough status, the problems that were repaired just before, and advice.

    `advice` is what could be better and is no problem: nobody is told when tasks fail.
    """

    status: SchedulerStatus
    mended: tuple[Problem, ...] = ()
    advice: tuple[Problem, ...] = ()


def read_status(backend: Backend, *, thorough: bool, zone: ZoneInfo) -> SchedulerStatus:
    """Read the record, the rule, the first keys of the lanes, and the failed tasks.

    thorough  also the problems that take more reads
    zone      the time zone in which tonight ends at 06:00

    Raises AwsUnavailable. A call that AWS refuses, or a missing resource, is a problem.
    """
    status, record = _read_once(backend, thorough=thorough, zone=zone)
    of_the_rule = {ProblemKind.RULE_ELSEWHERE, ProblemKind.NOT_ARMED}
    is_rule_wrong = any(problem.kind in of_the_rule for problem in status.problems)
    if is_rule_wrong and record and backend.armer.read().rev != record.rev:
        # The rule was set between the two reads.
        status, _ = _read_once(backend, thorough=thorough, zone=zone)
    return status


def after_repair(status: SchedulerStatus) -> SchedulerStatus:
    """Return the status as it is told after a repair: each problem that is left says what to do now."""
    left = (left_by_repair(problem, status.rings_at, bell=status.bell) for problem in status.problems)
    return msgspec.structs.replace(status, problems=tuple(left))


def _read_once(
    backend: Backend, *, thorough: bool, zone: ZoneInfo
) -> tuple[SchedulerStatus, ArmingRecord | None]:
    """The status, and the record that it was found with."""
    settings = backend.settings
    status = SchedulerStatus(
        table=settings.table,
        rule=backend.rule.name,
        bell=backend.rule.kind,
        name=settings.name or settings.table,
        label=settings.label,
        color=settings.color,
        tzdata=TZDATA_VERSION,
        tonight_ends=next_morning(backend.clock(), zone),
    )
    try:
        status, record = _with_queue(status, backend, thorough=thorough)
    except (NotDeployed, AwsRefused) as error:
        return _with_problems(status, _aws_problem(ProblemKind.TABLE, error)), None
    try:
        status = _with_rule(status, backend, record)
    except (NotDeployed, AwsRefused) as error:
        status = _with_problems(status, _aws_problem(ProblemKind.RULE, error))
    status = _with_worker(status, backend, record, thorough=thorough)
    if backend.intake:
        from .intake_state import with_intake  # noqa: PLC0415 (most have no intake queue)

        status = with_intake(status, backend)
    return status, record


def _with_worker(
    status: SchedulerStatus, backend: Backend, arming: ArmingRecord, *, thorough: bool
) -> SchedulerStatus:
    """The status with the actions that are limited, and with the error of a worker that cannot start.

    The error comes before the problems that follow from it.

    A thorough one has the waiting tasks whose action the worker does not have, as far as that is known.
    """
    record = backend.store.read_worker(consistent=True)
    if thorough and record and record.known and record.is_all:
        unknown = find_unknown_actions(Queue(backend), record.known)
        status = _with_problems(status, *([unknown] if unknown else []))
    limits = backend.store.read_limits() if arming.limits else None
    limited = read_limits(backend, record, limits or Limits(), lanes=len(arming.lanes), now=backend.clock())
    told = tuple(one for one in limited if one.paused or one.waiting)
    status = msgspec.structs.replace(status, limited=told)
    worker = record.described(backend.clock()) if record else None
    if worker is None or worker.error is None:
        return status
    return msgspec.structs.replace(
        status,
        worker_error=worker.error,
        problems=with_worker(worker.error, status.problems, bell=status.bell),
    )


def _with_queue(
    status: SchedulerStatus, backend: Backend, *, thorough: bool
) -> tuple[SchedulerStatus, ArmingRecord]:
    record, now = backend.armer.read(), backend.clock()
    late = overdue_before(record, now)
    tonight = status.tonight_ends or now
    queue = read_queue(backend, len(record.lanes), now=now, overdue_before=late, tonight=tonight)
    status = msgspec.structs.replace(
        status,
        next_due=None if queue.next_due == NEVER else queue.next_due,
        armed=record.is_settled(now) or record.target == NEVER,
        precision=Precision.SECOND if record.head_start else Precision.MINUTE,
        last_run=record.last_run,
        late_ring=record.late_ring,
        lanes=len(record.lanes),
        lanes_held=sum(not lane.is_free(now) for lane in record.lanes),
        queued=queue.queued,
        owing=len(queue.owing),
        running=queue.running,
        overdue=queue.overdue,
        due_tonight=queue.due_tonight,
    )
    status = _with_problems(status, *queue_problems(record, queue.heads, now), *lane_problems(record, now))
    if owing := owing_problem(record, queue.owing, now):
        status = _with_problems(status, owing)
    try:
        status = _with_failures(status, backend)
    except NotDeployed as error:
        status = _with_problems(status, _aws_problem(ProblemKind.PAST_INDEX, error))
    problems = _thorough_problems(backend, record) if thorough else ()
    return _with_problems(status, *problems), record


def _with_failures(status: SchedulerStatus, backend: Backend) -> SchedulerStatus:
    """Add the failed tasks that are kept, and the recurring tasks whose last occurrence failed."""
    store, each, lanes = backend.store, backend.parallel.all, range(status.lanes)

    def failing_in(lane: int) -> list[str]:
        return [key.id for key in itertools.islice(store.past(lane, Past.FAILING), MOST_COUNTED)]

    failed = _sum(each(lambda lane: store.count_past(lane, Past.FAILED, most=MOST_COUNTED), lanes))
    failing = sorted(itertools.chain(*each(failing_in, lanes)))
    status = msgspec.structs.replace(status, failed=failed, failing=_sum([len(failing)]))
    if failed:
        status = _with_problems(status, failed_problem(failed))
    return _with_problems(status, failing_problem(failing)) if failing else status


def _with_rule(status: SchedulerStatus, backend: Backend, record: ArmingRecord) -> SchedulerStatus:
    rule = backend.rule.read()
    targets = backend.rule.count_targets()
    region, account = rule.place
    status = msgspec.structs.replace(
        status,
        region=region,
        account=account,
        expression=rule.expression,
        enabled=rule.is_enabled,
        rings_at=_next_ring(rule, record, backend.clock()),
    )
    return _with_problems(status, *rule_problems(backend.rule, rule, targets, record, backend.clock()))


def _next_ring(rule: BellState, record: ArmingRecord, now: datetime) -> datetime | None:
    """The minute that the rule is set to; if that is over or unknown, the next one that it rings in."""
    minute, last = record.set_to, now - _MINUTE
    is_to_come = minute is not None and minute > last and rule.is_at(minute)
    return minute if is_to_come else next_ring(rule.expression, last)


def _sum(counts: Iterable[int]) -> int:
    return min(sum(counts), MOST_COUNTED)


def _thorough_problems(backend: Backend, record: ArmingRecord) -> tuple[Problem, ...]:
    """Tasks in lanes beyond the record's, and different time zones.

    The last is here because it needs no alarm: it matters to few schedules.
    """
    lanes, problems = len(record.lanes), []
    if record.last_run and record.last_run.tzdata not in {None, TZDATA_VERSION}:
        problems.append(tzdata_problem(TZDATA_VERSION, str(record.last_run.tzdata)))
    beyond = range(lanes, MAX_LANES)
    heads = zip(beyond, backend.parallel.all(backend.store.head, beyond), strict=True)
    if in_use := [lane for lane, head in heads if head != NEVER]:
        problems.append(lanes_problem(in_use[0], lanes))
    return tuple(problems)


def _aws_problem(kind: ProblemKind, error: NotDeployed | AwsRefused) -> Problem:
    if isinstance(error, NotDeployed):
        what, _, way_out = str(error).partition(": ")
        return Problem(kind=kind, what=what, way_out=way_out)
    return Problem(kind=kind, what=str(error), way_out="give whoever runs this the permissions of an editor")


def _with_problems(status: SchedulerStatus, *problems: Problem) -> SchedulerStatus:
    return msgspec.structs.replace(status, problems=(*status.problems, *problems))
