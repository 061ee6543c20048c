"""The scheduler's status: the rule, the arming record and the heads of the lanes, and their problems."""

import itertools
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import msgspec

from duebell_editor.listing.filters import make_filter
from duebell_editor.listing.listing import list_tasks
from duebell_editor.listing.queue_counts import MOST_COUNTED, next_morning, overdue_before, read_queue
from duebell_editor.listing.timeline import count_waiting
from duebell_shared.backend import Backend
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.bell.bell import BellState
from duebell_shared.bell.expression import next_ring
from duebell_shared.errors import AwsRefused, NotDeployed
from duebell_shared.instants import MILLISECOND, NEVER
from duebell_shared.limits.limits import Limits
from duebell_shared.queue.past_index import Past
from duebell_shared.queue.task_queue import Queue
from duebell_shared.quoting import nearest, quoted
from duebell_shared.schedules.zones import TZDATA_VERSION
from duebell_shared.settings import MAX_LANES, Precision
from duebell_shared.tasks.checks import is_reserved
from duebell_shared.tasks.worker_record import WorkerDescription

from .action_limits import read_limits
from .health import (
    Problem,
    ProblemKind,
    SchedulerStatus,
    failed_problem,
    failing_problem,
    lane_problems,
    lanes_problem,
    left_by_repair,
    owing_problem,
    queue_problems,
    rule_problems,
    tzdata_problem,
    worker_problem,
)
from .queues import with_queues

__all__ = ["after_repair", "read_status"]

_MINUTE = timedelta(minutes=1)

#: The most tasks that are read, those that run next: about ten calls.
_MOST_READ = 500

#: The most actions that the problem names.
_MOST_NAMED = 5


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
        status, record, limits = _with_queue(status, backend, thorough=thorough)
    except (NotDeployed, AwsRefused) as error:
        return status.with_problems(_aws_problem(ProblemKind.TABLE, error)), None
    try:
        status = _with_rule(status, backend, record)
    except (NotDeployed, AwsRefused) as error:
        status = status.with_problems(_aws_problem(ProblemKind.RULE, error))
        status = msgspec.structs.replace(status, armed=status.armed and isinstance(error, AwsRefused))
    status = _with_worker(status, backend, limits, thorough=thorough)
    return with_queues(status, backend), record


def _with_worker(
    status: SchedulerStatus, backend: Backend, limits: Limits, *, thorough: bool
) -> SchedulerStatus:
    """The status with the actions that are limited, and with the error of a worker that cannot start.

    A thorough one has the waiting tasks whose action the worker does not have, as far as that is known.
    """
    record = backend.store.read_worker(consistent=True)
    if thorough and record and record.known and record.is_all:
        unknown = _unknown_actions(Queue(backend), record.known)
        status = status.with_problems(*([unknown] if unknown else []))
    limited = read_limits(backend, record, limits, lanes=status.lanes, now=backend.clock())
    told = tuple(one for one in limited if one.paused or one.waiting)
    worker = record.described(backend.clock()) if record else None
    error = worker.error if worker else None
    status = msgspec.structs.replace(status, limited=told, worker_error=error)
    return status.with_problems(worker_problem(error, status.bell)) if error else status


def _with_queue(
    status: SchedulerStatus, backend: Backend, *, thorough: bool
) -> tuple[SchedulerStatus, ArmingRecord, Limits]:
    record, now = backend.armer.read(), backend.clock()
    late = overdue_before(record, now)
    tonight = status.tonight_ends or now
    limits = (backend.store.read_limits() if record.limits else None) or Limits()
    parked = limits.parked(now)
    queue = read_queue(
        backend, len(record.lanes), now=now, overdue_before=late, tonight=tonight, parked=parked
    )
    due_tonight, is_exact = queue.due_tonight, True
    if due_tonight is None:  # counted as in the timeline, so that both say the same
        borders = [late + MILLISECOND, tonight + MILLISECOND]
        counted = count_waiting(Queue(backend), record, borders, parked=parked, now=now)
        due_tonight, is_exact = counted.waiting[0] - counted.paused[0], counted.is_exact
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
        due_tonight=due_tonight,
        due_tonight_is_estimate=not is_exact,
    )
    status = status.with_problems(*queue_problems(record, queue.heads, now), *lane_problems(record, now))
    if owing := owing_problem(record, queue.owing, now):
        status = status.with_problems(owing)
    try:
        status = _with_failures(status, backend)
    except NotDeployed as error:
        status = status.with_problems(_aws_problem(ProblemKind.PAST_INDEX, error))
    problems = _thorough_problems(backend, record) if thorough else ()
    return status.with_problems(*problems), record, limits


def _with_failures(status: SchedulerStatus, backend: Backend) -> SchedulerStatus:
    """Add the failed tasks that are kept, and the recurring tasks whose last occurrence failed."""
    store, each, lanes = backend.store, backend.parallel.all, range(status.lanes)

    def failing_in(lane: int) -> list[str]:
        return [key.id for key in itertools.islice(store.past(lane, Past.FAILING), MOST_COUNTED)]

    failed = _sum(each(lambda lane: store.count_past(lane, Past.FAILED, most=MOST_COUNTED), lanes))
    failing = sorted(itertools.chain(*each(failing_in, lanes)))
    status = msgspec.structs.replace(status, failed=failed, failing=_sum([len(failing)]))
    if failed:
        status = status.with_problems(failed_problem(failed))
    return status.with_problems(failing_problem(failing)) if failing else status


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
        armed=status.armed and rule.is_enabled and targets > 0,
        rings_at=_next_ring(rule, record, backend.clock()) if rule.is_enabled else None,
    )
    return status.with_problems(*rule_problems(backend.rule, rule, targets, record, backend.clock()))


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


def _unknown_actions(queue: Queue, worker: WorkerDescription) -> Problem | None:
    """The problem of tasks without an action, among the first in the queue; None if there are none."""
    page = list_tasks(queue, make_filter(limit=_MOST_READ))
    ids: defaultdict[str, list[str]] = defaultdict(list)
    for task in page.tasks:
        if worker.action(task.action) is None and not is_reserved(task.action):
            ids[task.action].append(task.id)
    if not ids:
        return None
    most_first = sorted(ids.items(), key=lambda one: (-len(one[1]), one[0]))
    known = [one.name for one in worker.actions]
    named = [
        _named_action(action, tasks, nearest(action, known)) for action, tasks in most_first[:_MOST_NAMED]
    ]
    more = f" and {len(ids) - _MOST_NAMED:,} more actions" if len(ids) > _MOST_NAMED else ""
    bound = f" (of the {_MOST_READ:,} tasks that run next; later ones were not read)" if page.cursor else ""
    return Problem(
        kind=ProblemKind.UNKNOWN_ACTIONS,
        what=f"the worker does not have the action of waiting tasks: {', '.join(named)}{more}{bound}",
        way_out="deploy a worker that has it, or `duebell cancel` the tasks, or give each another action: "
        "`duebell update ID --action NAME`",
    )


def _named_action(action: str, ids: list[str], meant: str | None) -> str:
    what = f"{quoted(action)} (did you mean {meant}?)" if meant else quoted(action)
    if not ids[1:]:
        return f"{what} of the task {quoted(ids[0])}"
    return f"{what} of {len(ids):,} tasks, the first {quoted(ids[0])}"


def _aws_problem(kind: ProblemKind, error: NotDeployed | AwsRefused) -> Problem:
    if isinstance(error, NotDeployed):
        what, _, way_out = str(error).partition(": ")
        return Problem(kind=kind, what=what, way_out=way_out, mendable=kind is ProblemKind.RULE)
    return Problem(kind=kind, what=str(error), way_out="give whoever runs this the permissions of an editor")
