"""The scheduler's status and its problems, read from the record, the bell, the lanes and the queues."""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from botocore.exceptions import BotoCoreError, ClientError
from msgspec.structs import replace

from duebell_editor.listing.filters import make_filter
from duebell_editor.listing.listing import list_tasks
from duebell_editor.listing.queue_counts import MOST_COUNTED, QueueCounts, next_morning, read_queue
from duebell_shared.aws.sqs import DEAD_LETTERS, DeadLetters, is_missing
from duebell_shared.backend import Backend
from duebell_shared.bell.arming import GRACE, ArmingRecord, RestingLane
from duebell_shared.bell.bell import BellKind, BellState
from duebell_shared.bell.expression import next_ring
from duebell_shared.errors import AwsRefused, NotDeployed
from duebell_shared.instants import NEVER, render
from duebell_shared.limits.limits import Limits
from duebell_shared.queue.lane_sizes import GIGABYTE, LANE_LIMIT
from duebell_shared.queue.places import Past
from duebell_shared.queue.task_queue import Queue
from duebell_shared.quoting import as_argument, quoted
from duebell_shared.schedules.zones import TZDATA_VERSION, zone_of
from duebell_shared.settings import Precision
from duebell_shared.tasks.checks import is_reserved
from duebell_shared.tasks.history import Failure
from duebell_shared.tasks.task import STARTS_WITHIN, Task
from duebell_shared.tasks.worker_record import WorkerDescription, WorkerRecord

from .action_limits import ActionLimit, pause_of, read_limits
from .health import Problem, ProblemKind, SchedulerStatus

_MINUTE = timedelta(minutes=1)

#: The most tasks that are read to find tasks without an action: those that run next, by about ten calls.
_MOST_READ = 500

#: The most actions that the problem names.
_MOST_NAMED = 5

#: A lane with this many bytes is a problem: four fifths of what it can hold.
_FILLED = LANE_LIMIT * 4 // 5

#: The way to enable each kind of bell. AWS has no call that only enables a schedule.
_ENABLE = {
    BellKind.RULE: "enable it in EventBridge, or with `aws events enable-rule --name {name}`",
    BellKind.SCHEDULE: "enable it in EventBridge Scheduler's console (Schedules, Enable)",
}

_DOCTOR = "`duebell doctor --fix` sets it right"


def read_status(backend: Backend, *, thorough: bool = False, timezone: str = "UTC") -> SchedulerStatus:
    """Do what `Editor.status` does."""
    zone = zone_of(timezone)
    status, record = _read_once(backend, thorough=thorough, zone=zone)
    of_the_rule = {ProblemKind.RULE_ELSEWHERE, ProblemKind.NOT_ARMED}
    is_rule_wrong = any(problem.kind in of_the_rule for problem in status.problems)
    if is_rule_wrong and record and backend.armer.read().rev != record.rev:
        # The rule was set between the two reads.
        status, _ = _read_once(backend, thorough=thorough, zone=zone)
    return status


def _read_once(
    backend: Backend, *, thorough: bool, zone: ZoneInfo
) -> tuple[SchedulerStatus, ArmingRecord | None]:
    settings = backend.settings
    status = SchedulerStatus(
        table=settings.table,
        rule=backend.rule.name,
        bell=backend.rule.kind,
        name=settings.name or settings.table,
        color=settings.color,
        tzdata=TZDATA_VERSION,
        tonight_ends=next_morning(backend.clock(), zone),
    )
    try:
        record = backend.armer.read()
        limits = (backend.store.read(Limits) if record.limits else None) or Limits()
        status = _with_queue(status, backend, record, limits)
        status = _with_calendars(status, backend) if record.calendars else status
        if thorough:
            status = status.with_problems(*_thorough_problems(record))
    except (NotDeployed, AwsRefused) as error:
        return status.with_problems(_aws_problem(ProblemKind.TABLE, error)), None
    try:
        status = _with_rule(status, backend, record)
    except (NotDeployed, AwsRefused) as error:
        status = status.with_problems(_aws_problem(ProblemKind.RULE, error))
        status = replace(status, armed=status.armed and isinstance(error, AwsRefused))
    status = _with_worker(status, backend, limits, thorough=thorough)
    return _with_message_queues(status, backend), record


def _with_queue(
    status: SchedulerStatus, backend: Backend, record: ArmingRecord, limits: Limits
) -> SchedulerStatus:
    now = backend.clock()
    tonight = status.tonight_ends or now
    queue = read_queue(backend, record, now=now, tonight=tonight, parked=limits.parked(now))
    status = replace(
        status,
        next_due=None if queue.next_due == NEVER else queue.next_due,
        armed=record.is_settled(now) or record.target == NEVER,
        precision=Precision.SECOND if record.head_start else Precision.MINUTE,
        last_run=record.last_run,
        late_ring=record.late_ring,
        lanes=len(record.lanes),
        lanes_held=sum(not lane.is_free(now) for lane in record.lanes),
        queued=queue.queued,
        follow_ups_owed=len(queue.ended),
        running=queue.running,
        overdue=min(len(queue.late), MOST_COUNTED),
        due_tonight=queue.due_tonight,
        due_tonight_is_estimate=not queue.is_exact,
    ).with_problems(
        *_queue_problems(record, queue, now),
        *_lane_problems(record, now),
        *_follow_up_problems(queue.ended, now),
    )
    try:
        return _with_failures(status, backend)
    except NotDeployed as error:
        return status.with_problems(_aws_problem(ProblemKind.PAST_INDEX, error))


def _with_failures(status: SchedulerStatus, backend: Backend) -> SchedulerStatus:
    """Add the failed tasks that are kept, and the recurring tasks whose last occurrence failed."""
    store, each, lanes = backend.store, backend.parallel.all, range(status.lanes)

    def failing_in(lane: int) -> list[str]:
        return [key.id for key in itertools.islice(store.past(lane, Past.FAILING), MOST_COUNTED)]

    counts = each(lambda lane: store.count_past(lane, Past.FAILED, most=MOST_COUNTED), lanes)
    failed, ids = min(sum(counts), MOST_COUNTED), sorted(itertools.chain(*each(failing_in, lanes)))
    status = replace(status, failed=failed, failing=min(len(ids), MOST_COUNTED))
    if failed:
        status = status.with_problems(
            Problem(
                kind=ProblemKind.FAILED_TASKS,
                what="1 task failed" if failed == 1 else f"{failed:,} tasks failed",
                way_out="see why with `duebell failures`; when the cause is gone, `duebell retry` them",
            )
        )
    if not ids:
        return status
    several = f"{len(ids):,} recurring tasks, such as {quoted(ids[0])},"
    which = several if ids[1:] else f"the recurring task {quoted(ids[0])}"
    return status.with_problems(
        Problem(
            kind=ProblemKind.FAILING_TASKS,
            what=f"the last occurrence of {which} failed",
            way_out="see why with `duebell show ID`; `duebell run-now ID` runs one once more",
        )
    )


def _with_rule(status: SchedulerStatus, backend: Backend, record: ArmingRecord) -> SchedulerStatus:
    rule = backend.rule.read()
    targets = backend.rule.count_targets()
    region, account = rule.place
    is_set = rule.is_enabled and targets > 0 and rule.is_at(record.set_to)
    status = replace(
        status,
        region=region,
        account=account,
        expression=rule.expression,
        enabled=rule.is_enabled,
        armed=status.armed and is_set,
        rings_at=_next_ring(rule, record, backend.clock()) if rule.is_enabled else None,
    )
    return status.with_problems(*_rule_problems(backend, rule, targets, record))


def _next_ring(rule: BellState, record: ArmingRecord, now: datetime) -> datetime | None:
    """The minute that the rule is set to; if it has passed or is unknown, the minute of the next ring."""
    minute, last = record.set_to, now - _MINUTE
    is_to_come = minute is not None and minute > last and rule.is_at(minute)
    return minute if is_to_come else next_ring(rule.expression, last)


def _with_calendars(status: SchedulerStatus, backend: Backend) -> SchedulerStatus:
    """The status with the last days of the calendars of holidays, and problems of those that have ended."""
    from duebell_shared.schedules.calendars import Calendars  # noqa: PLC0415 (few queues have some)

    known = backend.store.read(Calendars)
    ends = {name: one.ends for name, one in known.calendars.items()} if known else {}
    today = backend.clock().date()
    over = [calendar_problem(ProblemKind.CALENDAR, name, end) for name, end in ends.items() if end < today]
    return replace(status, calendars=ends).with_problems(*over)


def calendar_problem(kind: ProblemKind, name: str, ends: date) -> Problem:
    """The problem or the advice of a calendar that ends on this day."""
    return Problem(
        kind=kind,
        what=f"the calendar {quoted(name)} knows no holidays after {ends}, so tasks run on them",
        way_out=f"import it with more years: `duebell calendar import … {as_argument(name)}`",
    )


def _with_worker(
    status: SchedulerStatus, backend: Backend, limits: Limits, *, thorough: bool
) -> SchedulerStatus:
    """The status with the limited actions and the worker's error; if thorough, also with unknown actions."""
    record = backend.store.read(WorkerRecord)
    if thorough and record and record.known:
        status = status.with_problems(*_unknown_actions(Queue(backend), record.known))
    limits_now = read_limits(backend, record, limits, lanes=status.lanes, now=backend.clock())
    limited = tuple(one for one in limits_now if one.paused or one.waiting)
    worker = record.described(backend.clock()) if record else None
    error = worker.error if worker else None
    status = replace(status, limited=limited, worker_error=error)
    status = status.with_problems(*(_paused_problem(one) for one in limited if one.paused and one.waiting))
    return status.with_problems(_worker_problem(error, status.bell)) if error else status


def _paused_problem(limit: ActionLimit) -> Problem:
    tasks = "1 task waits" if limit.waiting == 1 else f"{limit.waiting:,} tasks wait"
    pause, way_out = pause_of(limit)
    return Problem(
        kind=ProblemKind.ACTION_PAUSED, what=f"the {pause}, and {tasks}", way_out=way_out, at=limit.since
    )


def _worker_problem(error: Failure, bell: BellKind) -> Problem:
    return Problem(
        kind=ProblemKind.WORKER,
        what=f"the worker cannot start, so nothing runs: {error}",
        way_out="correct it and deploy again; `duebell actions` shows the traceback. Tasks wait meanwhile, "
        f"and the {bell} goes on ringing",
    )


def _with_message_queues(status: SchedulerStatus, backend: Backend) -> SchedulerStatus:
    """The status with the messages of the intake queue, if there is one, and of all dead-letter queues.

    The counts are left out if the caller may not read them, or SQS does not answer; the doctor says why.
    """
    sqs, place = backend.sqs, {"region": status.region, "account": status.account}
    if sqs is None or not status.region:
        return status
    for field, queue, what in (
        ("lost_rings", DeadLetters.LOST_RINGS, "rings did not reach the worker"),
        ("failed_runs", DeadLetters.FAILED_RUNS, "runs failed to the last of Lambda's tries"),
    ):
        with suppress(ClientError, BotoCoreError):
            count = sqs.count(f"{status.rule}-{queue}", **place)
            status = replace(status, **{field: count})
            if count:
                status = status.with_problems(_left_problem(status.rule, queue, count, what))
    intake = backend.settings.intake
    if not intake:
        return status
    try:
        waiting, dead = (sqs.count(name, **place) for name in (intake, intake + DEAD_LETTERS))
    except (ClientError, BotoCoreError) as error:
        return status.with_problems(_missing_problem(intake)) if is_missing(error) else status
    status = replace(status, intake_waiting=waiting, intake_dead_letters=dead)
    return status.with_problems(_dead_letters_problem(dead)) if dead else status


def _missing_problem(queue: str) -> Problem:
    return Problem(
        kind=ProblemKind.INTAKE,
        what=f"there is no intake queue {quoted(queue)}, or no dead-letter queue of it",
        way_out="`duebell deploy --intake` makes them; without an intake, take DUEBELL_INTAKE out of the "
        "environment",
    )


def _dead_letters_problem(count: int) -> Problem:
    return Problem(
        kind=ProblemKind.INTAKE_DEAD_LETTERS,
        what=f"{count:,} {'message' if count == 1 else 'messages'} of the intake queue could not be taken",
        way_out="see why with `duebell dead-letters`, remove the cause, then "
        "`duebell dead-letters --redrive intake`",
    )


def _left_problem(rule: str, queue: DeadLetters, count: int, what: str) -> Problem:
    messages = "1 message is" if count == 1 else f"{count:,} messages are"
    return Problem(
        kind=ProblemKind.DEAD_LETTERS,
        what=f"{what}: {messages} in the queue {quoted(f'{rule}-{queue}')}",
        way_out="read them with `duebell dead-letters`, remove the cause, then "
        f"`duebell dead-letters --redrive {queue}`",
    )


def _rule_problems(
    backend: Backend, rule: BellState, targets: int, record: ArmingRecord
) -> Iterator[Problem]:
    """Problems of the bell in AWS, compared with the arming record."""
    bell, now = backend.rule, backend.clock()
    if not rule.is_enabled:
        yield Problem(
            kind=ProblemKind.DISABLED,
            what=f"{bell.kind} {quoted(bell.name)} is disabled, so nothing runs",
            way_out=_ENABLE[bell.kind].format(name=bell.name),
        )
    if not targets:
        yield Problem(
            kind=ProblemKind.NO_TARGET,
            what=f"{bell.kind} {quoted(bell.name)} has no target, so it wakes nobody",
            way_out="`duebell doctor --fix` or `duebell deploy` gives it one",
            mendable=True,
        )
    if record.is_settled(now):
        if not rule.is_at(record.set_to):
            wanted = f"ring at {render(record.set_to)}" if record.set_to else f"be parked at {bell.sentinel}"
            yield Problem(
                kind=ProblemKind.RULE_ELSEWHERE,
                what=f"the {bell.kind} is at {rule.expression} and should {wanted}; "
                f"something other than duebell changed it",
                way_out=_DOCTOR,
                mendable=True,
            )
    elif record.target != NEVER and not record.is_being_applied(now):
        is_armed, echo = record.armed == record.target, next_ring(rule.expression, now)
        or_wait = f"; or wait for the {bell.kind}'s echo at {render(echo)}" if echo else ""
        yield Problem(
            kind=ProblemKind.NOT_ARMED,
            what=f"the {bell.kind} should have rung at {render(record.rings_at)}, and no run has come since"
            if is_armed and record.rings_at
            else f"the {bell.kind} is not confirmed to be where the queue needs it",
            way_out=_DOCTOR + or_wait,
            at=record.rings_at if is_armed else None,
            mendable=True,
        )


def _queue_problems(record: ArmingRecord, queue: QueueCounts, now: datetime) -> Iterator[Problem]:
    """Problems of the queue as a whole: overdue tasks, and leases."""
    if queue.late:
        first = queue.late[0].at
        is_left = any(record.lanes[one.lane].is_free(now) for one in queue.late)
        at_work = "no run is at work on them" if is_left else "the run at work has not come to them yet"
        yield Problem(
            kind=ProblemKind.OVERDUE,
            what=f"tasks are overdue, the first since {render(first)}, and {at_work}",
            way_out=f"{_DOCTOR}; if they stay overdue, look into the worker's log and its failed runs"
            if is_left
            else "wait for it; if this comes often, let more runs work side by side (DUEBELL_PARALLEL_RUNS)",
            at=first,
            mendable=is_left,
        )
    if record.is_held_too_long(now):
        yield Problem(
            kind=ProblemKind.HELD_TOO_LONG,
            what="the arming record is held for hours to come, which no process needs: it was edited, or "
            "written by a machine whose clock is wrong",
            way_out=_DOCTOR,
            mendable=True,
        )
    expired = [lane.until for lane in record.lanes if lane.owner and lane.until < now - GRACE]
    if expired and not (record.echo_of and record.is_settled(now)):  # an echo is a watchdog too, but slower
        yield Problem(
            kind=ProblemKind.LEASE_EXPIRED,
            what=f"a run died: its lease ended at {render(min(expired))}, and no other run has taken over",
            way_out=_DOCTOR,
            at=min(expired),
            mendable=True,
        )


def _follow_up_problems(ended: Sequence[Task], now: datetime) -> Iterator[Problem]:
    """The problem of follow-ups that are owed for so long that a run should have tried again."""
    late = sorted(
        (task.owes.at, task.id) for task in ended if task.owes and task.owes.at < now - STARTS_WITHIN
    )
    if late:
        at, id = late[0]
        yield Problem(
            kind=ProblemKind.FOLLOW_UPS_OWED,
            what=f"follow-ups that ended tasks owe: {len(late):,}, the first by {quoted(id)} "
            f"since {render(at)}",
            way_out="each run tries again, and its log line `follow_up_not_added` says why it fails; "
            f"{_DOCTOR}",
            at=at,
            mendable=True,
        )


def resting_problem(rest: RestingLane) -> Problem:
    return Problem(
        kind=ProblemKind.LANE_RESTS,
        what=f"AWS has refused or not answered the calls for lane {rest.lane} since "
        f"{render(rest.since)}, so its tasks wait, and it is tried less and less often",
        way_out="the worker's log says why, in its lines `lane_trouble`",
    )


def _lane_problems(record: ArmingRecord, now: datetime) -> Iterator[Problem]:
    """Problems of single lanes, and a relane that was interrupted."""
    fullest = record.fullest
    if fullest and fullest.bytes >= _FILLED:
        yield Problem(
            kind=ProblemKind.LANE_FILLS,
            what=f"lane {fullest.lane} held {fullest.bytes / GIGABYTE:.0f} GB at "
            f"{render(fullest.measured_at)}, and DynamoDB lets it hold 10",
            way_out="give the queue more lanes with `duebell relane`, or keep less: fewer "
            "DUEBELL_RETENTION_DAYS, DUEBELL_HISTORY=none, smaller payloads",
        )
    yield from map(resting_problem, record.last_run.resting if record.last_run else ())
    if record.relaner and not record.is_being_relaned(now):
        yield Problem(
            kind=ProblemKind.RELANE,
            what="giving the queue more lanes was interrupted; tasks run, but some ids cost a second read",
            way_out=f"repeat it: `duebell relane {len(record.lanes)}`",
        )


def _thorough_problems(record: ArmingRecord) -> Iterator[Problem]:
    """The problem of different releases of the time zones, which matter to few schedules."""
    last = record.last_run
    if last and last.tzdata not in {None, TZDATA_VERSION}:
        here, there = TZDATA_VERSION, str(last.tzdata)
        yield Problem(
            kind=ProblemKind.TZDATA,
            what=f"this editor has the time zones of tzdata {here}, the worker's last run had those of "
            f"{there}: a schedule can mean different times to them",
            way_out="upgrade tzdata here (`pip install --upgrade tzdata`)"
            if here < there
            else "`duebell deploy` gives the worker the release from here; its next run shows it",
        )


def _unknown_actions(queue: Queue, worker: WorkerDescription) -> Iterator[Problem]:
    """The problem of tasks whose action the worker lacks, among the first in the queue."""
    page = list_tasks(queue, make_filter(limit=_MOST_READ))
    unknown = Counter(
        task.action
        for task in page.tasks
        if worker.action(task.action) is None and not is_reserved(task.action)
    )
    if not unknown:
        return
    named = ", ".join(f"{quoted(action)} ({count:,})" for action, count in unknown.most_common(_MOST_NAMED))
    yield Problem(
        kind=ProblemKind.UNKNOWN_ACTIONS,
        what=f"tasks that run next and have no action in the worker: {unknown.total():,} of "
        f"{len(page.tasks):,}: {named}",
        way_out="deploy a worker that has it, or `duebell cancel` the tasks, or give each another action: "
        "`duebell update ID --action NAME`",
    )


def _aws_problem(kind: ProblemKind, error: NotDeployed | AwsRefused) -> Problem:
    if isinstance(error, NotDeployed):
        what, _, way_out = str(error).partition(": ")
        return Problem(kind=kind, what=what, way_out=way_out, mendable=kind is ProblemKind.RULE)
    return Problem(kind=kind, what=str(error), way_out="give this user or role the permissions of a client")
