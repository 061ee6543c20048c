"""How the scheduler stands: the rule, the arming record and the queue's heads, held against each other."""

import itertools
from collections.abc import Iterator
from datetime import datetime, timedelta

import msgspec

from duebell_shared.arming import ArmingRecord, LastRun, LateRing
from duebell_shared.backend import Backend
from duebell_shared.errors import AwsRefused, NotDeployed
from duebell_shared.expression import next_ring
from duebell_shared.instants import NEVER
from duebell_shared.rule import RuleState
from duebell_shared.settings import MAX_LANES, Precision
from duebell_shared.task import Status
from duebell_shared.zones import TZDATA_VERSION

from .health import (
    Problem,
    ProblemKind,
    failed_problem,
    failing_problem,
    lanes_problem,
    queue_problems,
    rule_problems,
    tzdata_problem,
)

__all__ = ["SchedulerStatus", "read_status"]


_MINUTE = timedelta(minutes=1)


class SchedulerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How the scheduler stands at one moment. Times are UTC.

    table, rule  where it lives
    expression   the rule's cron expression, as EventBridge has it; empty if it could not be read
    enabled      whether the rule rings at all
    rings_at     the minute it rings at, or at the latest if it may ring before; None when it is parked
    next_due     when the earliest task in the queue shall be looked at; None when none waits
    armed        whether the rule is confirmed to be where the queue needs it
    precision    how near to their due date tasks start, as the worker was set up when it last ran
    last_run     what came of the run that ended last; None before the first
    late_ring    the last ring that brought no run in time, so that its echo did: its minute, and when a run
                 came; None if there was none
    lanes        partitions of the queue
    running      how many of these a run holds at this moment
    tzdata       the release of the time zones that this editor has; the worker's is `last_run.tzdata`
    problems     what is wrong, each with the way out; empty when all is well
    """

    table: str
    rule: str
    expression: str = ""
    enabled: bool = False
    rings_at: datetime | None = None
    next_due: datetime | None = None
    armed: bool = False
    precision: Precision = Precision.MINUTE
    last_run: LastRun | None = None
    late_ring: LateRing | None = None
    lanes: int = 0
    running: int = 0
    tzdata: str = ""
    problems: tuple[Problem, ...] = ()

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def read_status(backend: Backend, *, thorough: bool) -> SchedulerStatus:
    """Look at the record, the rule and each lane's head; thoroughly, also at all there could be.

    Raises AwsUnavailable. That AWS refuses, or that something is not there, is a problem like others.
    """
    status, record = _look(backend, thorough=thorough)
    of_the_rule = {ProblemKind.RULE_ELSEWHERE, ProblemKind.NOT_ARMED}
    is_accused = any(problem.kind in of_the_rule for problem in status.problems)
    if is_accused and record and backend.armer.read().rev != record.rev:
        status, _ = _look(backend, thorough=thorough)  # it was set between the look at the one and the other
    return status


def _look(backend: Backend, *, thorough: bool) -> tuple[SchedulerStatus, ArmingRecord | None]:
    """How it stands, and the record that this was told by."""
    status = SchedulerStatus(table=backend.settings.table, rule=backend.rule.name, tzdata=TZDATA_VERSION)
    try:
        status, record = _with_queue(status, backend, thorough=thorough)
    except (NotDeployed, AwsRefused) as error:
        return _and(status, _from_aws(ProblemKind.TABLE, error)), None
    try:
        return _with_rule(status, backend, record), record
    except (NotDeployed, AwsRefused) as error:
        return _and(status, _from_aws(ProblemKind.RULE, error)), record


def _with_queue(
    status: SchedulerStatus, backend: Backend, *, thorough: bool
) -> tuple[SchedulerStatus, ArmingRecord]:
    record = backend.armer.read()
    now = backend.clock()
    heads = [backend.store.head(lane) for lane in range(len(record.lanes))]
    status = msgspec.structs.replace(
        status,
        next_due=None if min(heads) == NEVER else min(heads),
        armed=record.is_settled(now) or record.target == NEVER,
        precision=Precision.SECOND if record.head_start else Precision.MINUTE,
        last_run=record.last_run,
        late_ring=record.late_ring,
        lanes=len(record.lanes),
        running=sum(not lane.is_free(now) for lane in record.lanes),
    )
    return _and(
        status, *queue_problems(record, heads, now), *(_thoroughly(backend, record) if thorough else ())
    ), record


def _with_rule(status: SchedulerStatus, backend: Backend, record: ArmingRecord) -> SchedulerStatus:
    rule = backend.rule.read()
    targets = backend.rule.count_targets()
    status = msgspec.structs.replace(
        status,
        expression=rule.expression,
        enabled=rule.is_enabled,
        rings_at=_next_ring(rule, backend.clock()),
    )
    return _and(status, *rule_problems(backend.rule.name, rule, targets, record, backend.clock()))


def _next_ring(rule: RuleState, now: datetime) -> datetime | None:
    """The minute that it rings in next: the one that it is set to, or an echo if that is over."""
    if rule.minute is None or rule.minute > now - _MINUTE:
        return rule.minute
    return next_ring(rule.expression, now)


def _thoroughly(backend: Backend, record: ArmingRecord) -> Iterator[Problem]:
    """What only shows when all lanes that could be, and all of history, are looked into.

    And what needs no alarm: that the time zones differ, which matters to few schedules.
    """
    lanes = len(record.lanes)
    if record.last_run and record.last_run.tzdata not in {None, TZDATA_VERSION}:
        yield tzdata_problem(TZDATA_VERSION, str(record.last_run.tzdata))
    beyond = [lane for lane in range(lanes, MAX_LANES) if backend.store.head(lane) != NEVER]
    if beyond:
        yield lanes_problem(beyond[0], lanes)
    each = (backend.store.past(lane, now=backend.clock()) for lane in range(lanes))
    failed, failing = 0, []
    for task in itertools.chain.from_iterable(each):
        failed += task.status is Status.FAILED
        if task.consecutive_failures and task.status is not Status.FAILED:
            failing.append(task.id)
    if failed:
        yield failed_problem(failed)
    if failing:
        yield failing_problem(sorted(failing))


def _from_aws(kind: ProblemKind, error: NotDeployed | AwsRefused) -> Problem:
    if isinstance(error, NotDeployed):
        what, _, way_out = str(error).partition(": ")
        return Problem(kind=kind, what=what, way_out=way_out)
    return Problem(kind=kind, what=str(error), way_out="give whoever runs this the permissions of an editor")


def _and(status: SchedulerStatus, *problems: Problem) -> SchedulerStatus:
    return msgspec.structs.replace(status, problems=(*status.problems, *problems))
