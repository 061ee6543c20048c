"""The scheduler's status: the rule, the arming record and the heads of the lanes, and their problems."""

import itertools
from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from duebell_shared.arming import ArmingRecord
from duebell_shared.backend import Backend
from duebell_shared.errors import AwsRefused, NotDeployed
from duebell_shared.expression import next_ring
from duebell_shared.instants import NEVER, Instant
from duebell_shared.past_index import Past
from duebell_shared.rule import RuleState
from duebell_shared.run_notes import LastRun, LateRing
from duebell_shared.settings import MAX_LANES, Precision
from duebell_shared.zones import TZDATA_VERSION

from .health import (
    Problem,
    ProblemKind,
    failed_problem,
    failing_problem,
    lane_problems,
    lanes_problem,
    left_by_repair,
    overdue_before,
    queue_problems,
    rule_problems,
    tzdata_problem,
)

__all__ = ["MOST_COUNTED", "Diagnosis", "SchedulerStatus", "after_repair", "read_status"]

#: The limit of counting failed and overdue tasks.
MOST_COUNTED = 1_000

_MINUTE = timedelta(minutes=1)


class SchedulerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the scheduler at one moment. Times are UTC.

    table, rule  the names of the table and the rule
    expression   the rule's cron expression, as EventBridge has it; empty if it could not be read
    enabled      whether the rule rings at all
    rings_at     the minute it rings at, or at the latest if it may ring before; None when it is parked
    next_due     when the earliest task in the queue is to run; None when none waits
    armed        whether the rule is confirmed to be where the queue needs it
    precision    how near to their due date tasks start, as the worker was set up when it last ran
    last_run     the result of the run that ended last; None before the first
    late_ring    the last ring that started no run, until its echo did: its minute, and when the run came;
                 None if there was none
    lanes        partitions of the queue
    running      the number of lanes that runs hold at this moment
    overdue      tasks that have not ended and should have started: they are late by more than three and a
                 half minutes, or due, and the ring for them brought no run; at most 1,000
    failed       tasks that have failed and are kept; at most 1,000, None if the table cannot tell
    tzdata       this editor's release of the time zones; the worker's is `last_run.tzdata`
    problems     each with what is wrong and the way out; empty when all is well
    """

    table: str
    rule: str
    expression: str = ""
    enabled: bool = False
    rings_at: Instant | None = None
    next_due: Instant | None = None
    armed: bool = False
    precision: Precision = Precision.MINUTE
    last_run: LastRun | None = None
    late_ring: LateRing | None = None
    lanes: int = 0
    running: int = 0
    overdue: int = 0
    failed: int | None = None
    tzdata: str = ""
    problems: tuple[Problem, ...] = ()

    @property
    def healthy(self) -> bool:
        """True if there are no problems."""
        return not self.problems


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """The thorough status, and the problems that were repaired just before."""

    status: SchedulerStatus
    mended: tuple[Problem, ...] = ()


def read_status(backend: Backend, *, thorough: bool) -> SchedulerStatus:
    """Read the record, the rule, the heads of the lanes and the number of failed tasks.

    thorough  also the problems that take more reads

    Raises AwsUnavailable. A call that AWS refuses, or a missing resource, is a problem.
    """
    status, record = _read_once(backend, thorough=thorough)
    of_the_rule = {ProblemKind.RULE_ELSEWHERE, ProblemKind.NOT_ARMED}
    is_rule_wrong = any(problem.kind in of_the_rule for problem in status.problems)
    if is_rule_wrong and record and backend.armer.read().rev != record.rev:
        status, _ = _read_once(backend, thorough=thorough)  # the rule was set between the two reads
    return status


def after_repair(status: SchedulerStatus) -> SchedulerStatus:
    """Return the status as it is told after a repair: each problem that is left says what to do now."""
    left = (left_by_repair(problem, status.rings_at) for problem in status.problems)
    return msgspec.structs.replace(status, problems=tuple(left))


def _read_once(backend: Backend, *, thorough: bool) -> tuple[SchedulerStatus, ArmingRecord | None]:
    """The status, and the record that it was found with."""
    status = SchedulerStatus(table=backend.settings.table, rule=backend.rule.name, tzdata=TZDATA_VERSION)
    try:
        status, record = _with_queue(status, backend, thorough=thorough)
    except (NotDeployed, AwsRefused) as error:
        return _with_problems(status, _aws_problem(ProblemKind.TABLE, error)), None
    try:
        return _with_rule(status, backend, record), record
    except (NotDeployed, AwsRefused) as error:
        return _with_problems(status, _aws_problem(ProblemKind.RULE, error)), record


def _with_queue(
    status: SchedulerStatus, backend: Backend, *, thorough: bool
) -> tuple[SchedulerStatus, ArmingRecord]:
    store, each = backend.store, backend.parallel.all
    record, now = backend.armer.read(), backend.clock()
    lanes = range(len(record.lanes))
    heads = list(backend.armer.heads(lanes).values())
    before = overdue_before(record, now)
    late = [lane for lane, head in zip(lanes, heads, strict=True) if head <= before]
    status = msgspec.structs.replace(
        status,
        next_due=None if min(heads) == NEVER else min(heads),
        armed=record.is_settled(now) or record.target == NEVER,
        precision=Precision.SECOND if record.head_start else Precision.MINUTE,
        last_run=record.last_run,
        late_ring=record.late_ring,
        lanes=len(record.lanes),
        running=sum(not lane.is_free(now) for lane in record.lanes),
        overdue=_sum(each(lambda lane: store.count(lane, before=before, most=MOST_COUNTED), late)),
    )
    status = _with_problems(status, *queue_problems(record, heads, now), *lane_problems(record, now))
    try:
        failed = each(lambda lane: store.count_past(lane, Past.FAILED, most=MOST_COUNTED), lanes)
        status = msgspec.structs.replace(status, failed=_sum(failed))
        problems = _thorough_problems(backend, record, status.failed or 0) if thorough else ()
        return _with_problems(status, *problems), record
    except NotDeployed as error:
        return _with_problems(status, _aws_problem(ProblemKind.PAST_INDEX, error)), record


def _with_rule(status: SchedulerStatus, backend: Backend, record: ArmingRecord) -> SchedulerStatus:
    rule = backend.rule.read()
    targets = backend.rule.count_targets()
    status = msgspec.structs.replace(
        status,
        expression=rule.expression,
        enabled=rule.is_enabled,
        rings_at=_next_ring(rule, backend.clock()),
    )
    return _with_problems(status, *rule_problems(backend.rule.name, rule, targets, record, backend.clock()))


def _next_ring(rule: RuleState, now: datetime) -> datetime | None:
    """The minute of the next ring: the one that the rule is set to, or the next echo after it."""
    if rule.minute is None or rule.minute > now - _MINUTE:
        return rule.minute
    return next_ring(rule.expression, now)


def _sum(counts: Iterable[int]) -> int:
    return min(sum(counts), MOST_COUNTED)


def _thorough_problems(backend: Backend, record: ArmingRecord, failed: int) -> tuple[Problem, ...]:
    """Tasks in lanes beyond the record's, failed tasks, recurring tasks that fail, and different time zones.

    The last is here because it needs no alarm: it matters to few schedules.
    """
    store, each, lanes = backend.store, backend.parallel.all, len(record.lanes)
    problems = []
    if record.last_run and record.last_run.tzdata not in {None, TZDATA_VERSION}:
        problems.append(tzdata_problem(TZDATA_VERSION, str(record.last_run.tzdata)))
    beyond = range(lanes, MAX_LANES)
    heads = zip(beyond, each(store.head, beyond), strict=True)
    if in_use := [lane for lane, head in heads if head != NEVER]:
        problems.append(lanes_problem(in_use[0], lanes))
    if failed:
        problems.append(failed_problem(failed))

    def failing_in(lane: int) -> list[str]:
        return [key.id for key in itertools.islice(store.past(lane, Past.FAILING), MOST_COUNTED)]

    if failing := sorted(itertools.chain(*each(failing_in, range(lanes)))):
        problems.append(failing_problem(failing))
    return tuple(problems)


def _aws_problem(kind: ProblemKind, error: NotDeployed | AwsRefused) -> Problem:
    if isinstance(error, NotDeployed):
        what, _, way_out = str(error).partition(": ")
        return Problem(kind=kind, what=what, way_out=way_out)
    return Problem(kind=kind, what=str(error), way_out="give whoever runs this the permissions of an editor")


def _with_problems(status: SchedulerStatus, *problems: Problem) -> SchedulerStatus:
    return msgspec.structs.replace(status, problems=(*status.problems, *problems))
