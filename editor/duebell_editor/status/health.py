"""The status of a scheduler, and its problems, each with the way out. Pure: it follows from what was read."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Self

import msgspec

from duebell_editor.listing.queue_counts import OVERDUE
from duebell_shared.aws.alarms import Silence
from duebell_shared.bell.arming import GRACE, ArmingRecord
from duebell_shared.bell.bell import Bell, BellKind, BellState
from duebell_shared.bell.expression import next_ring
from duebell_shared.bell.run_notes import LastRun, LateRing
from duebell_shared.instants import NEVER, Instant, render
from duebell_shared.queue.lane_sizes import GIGABYTE, LANE_LIMIT
from duebell_shared.quoting import quoted
from duebell_shared.settings import Color, Precision
from duebell_shared.tasks.failure import Failure
from duebell_shared.tasks.task import Task

from .action_limits import ActionLimit

__all__ = [
    "Diagnosis",
    "Problem",
    "ProblemKind",
    "SchedulerStatus",
    "failed_problem",
    "failing_problem",
    "lane_problems",
    "lanes_problem",
    "left_by_repair",
    "owing_problem",
    "queue_problems",
    "rule_problems",
    "silence_problem",
    "tzdata_problem",
    "worker_problem",
]

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
    """The kind of a problem, for programs that monitor. The worst kinds come first, as in a status."""

    WORKER = "worker"
    TABLE = "table"
    RULE = "rule"
    DISABLED = "disabled"
    NO_TARGET = "no_target"
    NO_PERMISSION = "no_permission"
    HELD_TOO_LONG = "held_too_long"
    NOT_ARMED = "not_armed"
    RULE_ELSEWHERE = "rule_elsewhere"
    OVERDUE = "overdue"
    LEASE_EXPIRED = "lease_expired"
    OWING = "owing"
    LANES = "lanes"
    LANE_RESTS = "lane_rests"
    LANE_FILLS = "lane_fills"
    INTAKE = "intake"
    INTAKE_IDLE = "intake_idle"
    PAST_INDEX = "past_index"
    UNKNOWN_ACTIONS = "unknown_actions"
    DELIVERY = "delivery"
    FAILED_TASKS = "failed_tasks"
    FAILING_TASKS = "failing_tasks"
    INTAKE_DEAD_LETTERS = "intake_dead_letters"
    DEAD_LETTERS = "dead_letters"
    RELANE = "relane"
    TZDATA = "tzdata"
    SILENCE = "silence"
    UNSEEN_DELIVERY = "unseen_delivery"
    UNSEEN_QUEUE = "unseen_queue"


_ORDER = {kind: place for place, kind in enumerate(ProblemKind)}

#: While one of these lasts, no run is started, and the others follow from it.
_CAUSES = {
    ProblemKind.WORKER,
    ProblemKind.RULE,
    ProblemKind.DISABLED,
    ProblemKind.NO_TARGET,
    ProblemKind.NO_PERMISSION,
}
_FOLLOWS = {ProblemKind.OVERDUE, ProblemKind.OWING, ProblemKind.NOT_ARMED, ProblemKind.LEASE_EXPIRED}


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


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The problems, the worst first. One that follows from the first says so, instead of a repair."""
    worst_first = sorted(problems, key=lambda one: _ORDER[one.kind])
    has_cause = any(one.kind in _CAUSES for one in worst_first)
    return tuple(
        msgspec.structs.replace(one, way_out="it follows from the first problem", mendable=False)
        if has_cause and one.kind in _FOLLOWS
        else one
        for one in worst_first
    )


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
    rings_at     the minute it rings at, or at the latest if it may ring before; None when it is parked, or
                 not enabled
    next_due     when the earliest task in the queue is to run; None when none waits
    owing        tasks that have ended and owe a follow-up, most often for milliseconds; of the first thousand
                 that are due. They do not count as queued or overdue, but for those that recur and go on
    armed        whether the rule is confirmed to be where the queue needs it, is enabled and has a target
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
    due_tonight  tasks that are due until `tonight_ends` and not overdue, however many they are;
                 without those that a pause of their action has put back
    due_tonight_is_estimate  whether one lane was counted for all, as in the timeline
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
    lost_rings   messages of the queue for rings that did not reach the worker; None if not known
    failed_runs  messages of the queue for runs that failed to the last of Lambda's tries; None likewise
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
    due_tonight_is_estimate: bool = False
    tonight_ends: Instant | None = None
    failed: int | None = None
    failing: int | None = None
    tzdata: str = ""
    worker_error: Failure | None = None
    limited: tuple[ActionLimit, ...] = ()
    intake_waiting: int | None = None
    intake_since: Instant | None = None
    intake_dead_letters: int | None = None
    lost_rings: int | None = None
    failed_runs: int | None = None
    problems: tuple[Problem, ...] = ()

    @property
    def healthy(self) -> bool:
        """True if there are no problems."""
        return not self.problems

    @property
    def verdict(self) -> str:
        """The verdict that the page, the API and the command line show."""
        return "healthy" if self.healthy else "needs attention"

    def with_problems(self, *problems: Problem) -> Self:
        """The status with more problems, the worst first; those that follow from another one say so."""
        return msgspec.structs.replace(self, problems=in_order([*self.problems, *problems]))


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """The thorough status, the problems that were repaired just before, and advice.

    `advice` is what could be better and is no problem: nobody is told when tasks fail.
    """

    status: SchedulerStatus
    mended: tuple[Problem, ...] = ()
    advice: tuple[Problem, ...] = ()


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
            way_out="`duebell doctor --fix` or `duebell deploy` gives it one",
            mendable=True,
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


def worker_problem(error: Failure, bell: BellKind) -> Problem:
    """The worker cannot start."""
    frames = _FRAME.findall(error.traceback)
    place = f" ({frames[-1][0]}, line {frames[-1][1]})" if frames else ""
    return Problem(
        kind=ProblemKind.WORKER,
        what=f"the worker cannot start, so nothing runs: {error}{place}",
        way_out="correct it and deploy again; `duebell actions` shows the traceback. Tasks wait meanwhile, "
        f"and the {bell} goes on ringing",
    )
