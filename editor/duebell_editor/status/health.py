"""Problems of a scheduler, each with the way out. Pure: they follow from what was read and from the time."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from duebell_shared.aws.alarms import Silence
from duebell_shared.bell.arming import GRACE, ArmingRecord
from duebell_shared.bell.bell import Bell, BellKind, BellState
from duebell_shared.bell.expression import next_ring
from duebell_shared.instants import NEVER, Instant, render
from duebell_shared.queue.lane_sizes import GIGABYTE, LANE_LIMIT
from duebell_shared.quoting import quoted
from duebell_shared.tasks.failure import Failure
from duebell_shared.tasks.task import Task

__all__ = [
    "OVERDUE",
    "Problem",
    "ProblemKind",
    "failed_problem",
    "failing_problem",
    "lane_problems",
    "lanes_problem",
    "left_by_repair",
    "overdue_before",
    "owing_problem",
    "queue_problems",
    "rule_problems",
    "silence_problem",
    "tzdata_problem",
    "with_worker",
]

#: A task starts within three minutes when all is well, and half a minute for the Lambda: one that was due as
#: soon as it was added waits a minute until it can be rung for, for the whole minute, and for the ring in it.
OVERDUE = timedelta(minutes=3, seconds=30)

#: A lane with this many bytes is a problem: four fifths of what it can hold.
FILLED = LANE_LIMIT * 4 // 5

#: The place of a frame in a traceback, but for those in duebell's own packages.
_FRAME = re.compile(
    r'^  File "(?!.*/duebell_(?:shared|worker|editor)/)(?:.*/)?([^"]+)", line (\d+)', re.MULTILINE
)

#: A schedule has no call that only enables it.
_ENABLE = {
    BellKind.RULE: "enable it in EventBridge, or with `aws events enable-rule --name {name}`",
    BellKind.SCHEDULE: "enable it in EventBridge Scheduler's console (Schedules, Enable)",
}

_DOCTOR = "`duebell doctor --fix` sets it right"


class ProblemKind(StrEnum):
    """The kind of a problem, for programs that monitor."""

    TABLE = "table"
    RULE = "rule"
    NO_TARGET = "no_target"
    DISABLED = "disabled"
    NOT_ARMED = "not_armed"
    RULE_ELSEWHERE = "rule_elsewhere"
    OVERDUE = "overdue"
    OWING = "owing"
    LEASE_EXPIRED = "lease_expired"
    HELD_TOO_LONG = "held_too_long"
    LANES = "lanes"
    LANE_FILLS = "lane_fills"
    LANE_RESTS = "lane_rests"
    RELANE = "relane"
    PAST_INDEX = "past_index"
    FAILED_TASKS = "failed_tasks"
    FAILING_TASKS = "failing_tasks"
    TZDATA = "tzdata"
    SILENCE = "silence"
    UNKNOWN_ACTIONS = "unknown_actions"
    WORKER = "worker"
    DELIVERY = "delivery"
    UNSEEN_DELIVERY = "unseen_delivery"
    INTAKE = "intake"
    INTAKE_IDLE = "intake_idle"
    INTAKE_DEAD_LETTERS = "intake_dead_letters"
    UNSEEN_INTAKE = "unseen_intake"


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One problem.

    what      what is wrong
    way_out   what to do about it
    at        since when it is so, where it has a time
    mendable  whether `duebell doctor --fix` repairs it
    """

    kind: ProblemKind
    what: str
    way_out: str
    at: Instant | None = None
    mendable: bool = False

    def __str__(self) -> str:
        return f"{self.what}: {self.way_out}"


def rule_problems(
    bell: Bell, rule: BellState, targets: int, record: ArmingRecord, now: datetime
) -> Iterator[Problem]:
    """Problems of the bell in AWS, compared with the arming record."""
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
            way_out="`duebell deploy` gives it one",
        )
    if record.is_settled(now):
        if not rule.is_at(record.set_to):
            yield Problem(
                kind=ProblemKind.RULE_ELSEWHERE,
                what=f"the {bell.kind} is at {rule.expression} and should {_ring_at(record.set_to, bell)}; "
                f"something other than duebell changed it",
                way_out=_DOCTOR,
                mendable=True,
            )
    elif record.target != NEVER and not record.is_being_applied(now):
        is_armed = record.armed == record.target
        yield Problem(
            kind=ProblemKind.NOT_ARMED,
            what=f"the {bell.kind} should have rung at {render(record.rings_at)}, and no run came of it"
            if is_armed and record.rings_at
            else f"the {bell.kind} is not confirmed to be where the queue needs it",
            way_out=_DOCTOR + _echo(bell, rule, now),
            at=record.rings_at if is_armed else None,
            mendable=True,
        )


def _echo(bell: Bell, rule: BellState, now: datetime) -> str:
    echo = next_ring(rule.expression, now)
    return f"; or wait for the {bell.kind}'s echo at {render(echo)}" if echo else ""


def _ring_at(minute: datetime | None, bell: Bell) -> str:
    return f"ring at {render(minute)}" if minute else f"be parked at {bell.sentinel}"


def overdue_before(record: ArmingRecord, now: datetime) -> datetime:
    """Return the time up to which all tasks should have started: now, if the ring for them brought no run."""
    is_missed = record.rings_at is not None and record.rings_at + GRACE < now
    return now if is_missed else now - OVERDUE


def queue_problems(record: ArmingRecord, heads: Sequence[datetime], now: datetime) -> Iterator[Problem]:
    """Problems of the queue; `heads` are the times of the first task of each lane."""
    lanes = list(zip(record.lanes, heads, strict=True))
    late = [head for lane, head in lanes if head < now - OVERDUE and lane.is_free(now)]
    if late:
        yield Problem(
            kind=ProblemKind.OVERDUE,
            what=f"tasks are overdue, the first since {render(min(late))}, and no run is at work on them",
            way_out=f"{_DOCTOR}; if they stay overdue, look into the worker's log and its failed runs",
            at=min(late),
            mendable=True,
        )
    if record.is_held_too_long(now):
        yield Problem(
            kind=ProblemKind.HELD_TOO_LONG,
            what="the arming record is held for hours to come, which no process needs: it was edited, or "
            "written by a machine whose clock is wrong",
            way_out=_DOCTOR,
            mendable=True,
        )
    expired = [lane.until for lane, _ in lanes if lane.owner and lane.until < now - GRACE]
    if expired and not (record.echo_of and record.is_settled(now)):  # an echo is a watchdog that takes longer
        yield Problem(
            kind=ProblemKind.LEASE_EXPIRED,
            what=f"a run died: its lease ended at {render(min(expired))}, and no other run has taken over",
            way_out=_DOCTOR,
            at=min(expired),
            mendable=True,
        )


def owing_problem(record: ArmingRecord, owing: Sequence[Task], now: datetime) -> Problem | None:
    """The follow-ups that have been owed for so long that something is wrong; None if there are none.

    That is, a try failed, or no run is at work in the lane.
    """

    def ended_at(task: Task) -> datetime:
        return task.owes.at if task.owes else now

    def is_left(task: Task) -> bool:
        is_free = task.lane >= len(record.lanes) or record.lanes[task.lane].is_free(now)
        return ended_at(task) < now - OVERDUE and (task.follow_up_error is not None or is_free)

    late = sorted(filter(is_left, owing), key=ended_at)
    if not late:
        return None
    first, why = late[0], next((task.follow_up_error for task in late if task.follow_up_error), None)
    since = f"since {render(ended_at(first))}"
    what = (
        f"{len(late):,} tasks have ended and owe their follow-ups, {quoted(first.id)} as the first {since}"
        if late[1:]
        else f"the task {quoted(first.id)} has ended and owes its follow-up {since}"
    )
    return Problem(
        kind=ProblemKind.OWING,
        what=f"{what}; {f'the last try failed: {why}' if why else 'no run has tried to add it since'}",
        way_out="runs try again each minute or two, and nothing is lost; remove the cause of the error"
        if why
        else f"the next run adds it: {_DOCTOR}",
        at=ended_at(first),
        mendable=why is None,
    )


def lane_problems(record: ArmingRecord, now: datetime) -> Iterator[Problem]:
    """Problems of single lanes, and a relane that was interrupted."""
    fullest = record.fullest
    if fullest and fullest.bytes >= FILLED:
        yield Problem(
            kind=ProblemKind.LANE_FILLS,
            what=f"lane {fullest.lane} held {fullest.bytes / GIGABYTE:.0f} GB at "
            f"{render(fullest.measured_at)}, and DynamoDB lets it hold 10",
            way_out="give the queue more lanes with `duebell relane`, or keep less: fewer "
            "DUEBELL_RETENTION_DAYS, DUEBELL_HISTORY=none, smaller payloads",
        )
    for rest in record.last_run.resting if record.last_run else ():
        yield Problem(
            kind=ProblemKind.LANE_RESTS,
            what=f"AWS has refused or not answered the calls for lane {rest.lane} since "
            f"{render(rest.since)}, so its tasks wait, and it is tried less and less often",
            way_out="the worker's log says why, in its lines `lane_trouble`",
        )
    if record.relaner and not record.is_relaned(now):
        yield Problem(
            kind=ProblemKind.RELANE,
            what="giving the queue more lanes was interrupted; tasks run, but some ids cost a second read",
            way_out=f"repeat it: `duebell relane {len(record.lanes)}`",
        )


def left_by_repair(problem: Problem, rings_at: datetime | None, *, bell: BellKind) -> Problem:
    """Return the problem as it is told after a repair: one that is left needs something else."""
    if not problem.mendable:
        return problem
    way_out = "it was set right, and is wrong again: find out who else changes it"
    if rings_at and problem.kind in {ProblemKind.OVERDUE, ProblemKind.OWING, ProblemKind.LEASE_EXPIRED}:
        at = render(rings_at)
        way_out = f"the {bell} is set to ring at {at}; if no run comes then, look into the worker's log"
    return msgspec.structs.replace(problem, way_out=way_out, mendable=False)


def lanes_problem(beyond: int, lanes: int) -> Problem:
    """Tasks wait in lane `beyond`, which the arming record does not have."""
    return Problem(
        kind=ProblemKind.LANES,
        what=f"tasks wait in lane {beyond}, and the arming record has only {lanes} lanes: someone edited it",
        way_out="delete the item with lane 'arming' from the table: it is made anew, with every lane in use",
    )


def failed_problem(count: int) -> Problem:
    """Some tasks have failed."""
    return Problem(
        kind=ProblemKind.FAILED_TASKS,
        what="1 task failed" if count == 1 else f"{count:,} tasks failed",
        way_out="see them with `duebell list --status failed`, then `duebell retry` or `cancel` each",
    )


def failing_problem(ids: Sequence[str]) -> Problem:
    """The last occurrences of some recurring tasks failed."""
    which = f"{len(ids):,} recurring tasks: {quoted(ids[0])} and {len(ids) - 1:,} more"
    return Problem(
        kind=ProblemKind.FAILING_TASKS,
        what=f"the last occurrence failed of {which if ids[1:] else f'the recurring task {quoted(ids[0])}'}",
        way_out="see why with `duebell show ID`; `duebell run-now ID` runs one once more",
    )


def silence_problem(silence: Silence) -> Problem:
    """Nobody is told when tasks fail."""
    return Problem(
        kind=ProblemKind.SILENCE,
        what=f"nobody is told when tasks fail: {silence}",
        way_out="somebody must follow the link in the mail that AWS sent, or subscribe to the alarms' topic"
        if silence is Silence.UNCONFIRMED
        else "`duebell deploy --alarm-mail ADDRESS` has alarms mailed",
    )


def tzdata_problem(here: str, there: str) -> Problem:
    """The editor and the worker have different releases of the time zones."""
    return Problem(
        kind=ProblemKind.TZDATA,
        what=f"this editor has the time zones of tzdata {here}, the worker's last run had those of {there}: "
        "a schedule can mean different times to them",
        way_out="upgrade tzdata here (`pip install --upgrade tzdata`)"
        if here < there
        else "`duebell deploy` gives the worker the release from here; its next run tells",
    )


def with_worker(error: Failure, problems: Sequence[Problem], *, bell: BellKind) -> tuple[Problem, ...]:
    """Put the problem of a worker that cannot start first. Problems that it causes say so."""
    frames = _FRAME.findall(error.traceback)
    place = f" ({frames[-1][0]}, line {frames[-1][1]})" if frames else ""
    cannot_start = Problem(
        kind=ProblemKind.WORKER,
        what=f"the worker cannot start, so nothing runs: {error}{place}",
        way_out="correct it and deploy again; `duebell actions` shows the traceback. Tasks wait meanwhile, "
        f"and the {bell} goes on ringing",
    )
    follows = {
        ProblemKind.OVERDUE,
        ProblemKind.OWING,
        ProblemKind.NOT_ARMED,
        ProblemKind.LEASE_EXPIRED,
    }
    return (
        cannot_start,
        *(
            msgspec.structs.replace(one, way_out="it follows from the worker's problem", mendable=False)
            if one.kind in follows
            else one
            for one in problems
        ),
    )
