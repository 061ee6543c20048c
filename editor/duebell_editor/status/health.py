"""The status of a scheduler, and its problems, each with the way out."""

from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from typing import Self

import msgspec

from duebell_shared.bell.arming import LastRun, LateRing
from duebell_shared.bell.bell import BellKind
from duebell_shared.instants import Instant
from duebell_shared.settings import Color, Precision
from duebell_shared.tasks.history import Failure

from .action_limits import ActionLimit


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
    FOLLOW_UPS_OWED = "follow_ups_owed"
    LANE_RESTS = "lane_rests"
    LANE_FILLS = "lane_fills"
    INTAKE = "intake"
    INTAKE_IDLE = "intake_idle"
    PAST_INDEX = "past_index"
    UNKNOWN_ACTIONS = "unknown_actions"
    DELIVERY = "delivery"
    FAILED_TASKS = "failed_tasks"
    FAILING_TASKS = "failing_tasks"
    ACTION_PAUSED = "action_paused"
    INTAKE_DEAD_LETTERS = "intake_dead_letters"
    DEAD_LETTERS = "dead_letters"
    RELANE = "relane"
    TZDATA = "tzdata"
    CALENDAR = "calendar"
    CALENDAR_ENDS = "calendar_ends"
    SILENCE = "silence"
    UNSEEN = "unseen"


#: The kinds that only warn: this one and all after it.
WARNINGS = tuple(ProblemKind)[list(ProblemKind).index(ProblemKind.ACTION_PAUSED) :]

_ORDER = {kind: place for place, kind in enumerate(ProblemKind)}

#: While one of the causes lasts, no run is started. The problems in _FOLLOWS then follow from it.
_CAUSES = {
    ProblemKind.WORKER,
    ProblemKind.RULE,
    ProblemKind.DISABLED,
    ProblemKind.NO_TARGET,
    ProblemKind.NO_PERMISSION,
}
_FOLLOWS = {
    ProblemKind.OVERDUE,
    ProblemKind.FOLLOW_UPS_OWED,
    ProblemKind.NOT_ARMED,
    ProblemKind.LEASE_EXPIRED,
}


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One problem.

    what      what is wrong
    way_out   what to do about it
    at        when it began, if that is known
    mendable  whether `duebell doctor --fix` repairs it
    """

    kind: ProblemKind
    what: str
    way_out: str
    at: Instant | None = None
    mendable: bool = False

    def __str__(self) -> str:
        return f"{self.what}: {self.way_out}"


class SchedulerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the scheduler at one moment. Times are UTC.

    name         the scheduler's name; the table's if none was given
    region       the region and the account that the rule is in; empty if it could not be read
    account      see region
    color        the colour of its name
    table, rule  the names of the table and of the bell
    bell         what the bell is: a rule of EventBridge, or a schedule of EventBridge Scheduler
    expression   the bell's cron expression, as AWS has it; empty if it could not be read
    enabled      whether the bell rings at all
    rings_at     the minute of its next ring, or the latest minute if it may ring earlier; None when it is
                 parked, or not enabled
    next_due     when the earliest task in the queue runs; None when no task waits
    follow_ups_owed  ended tasks that owe a follow-up, most often for milliseconds; among the first thousand
                 due tasks. They do not count as queued or overdue, unless they recur
    armed        whether the rule is confirmed to ring when the queue needs it, is enabled and has a target
    precision    how close to their due date tasks start, by the worker's settings when it last ran
    last_run     the result of the run that ended last; None before the first
    late_ring    the last ring that started no run: its minute, and when the run came that its echo started;
                 None if there was none
    lanes        partitions of the queue
    lanes_held   the number of lanes that runs hold at this moment
    queued       tasks that wait or run; a recurring task counts once. At most 1,000, as all such counts
    running      tasks that run, among the first due tasks: a hundred or more are read
    overdue      tasks that should have started: they are late by more than three and a half minutes, or they
                 are due and their ring started no run. Tasks that count as running are left out
    due_tonight  tasks that are due until `tonight_ends` and not overdue, without an upper limit. Tasks that a
                 pause of their action has put back do not count
    due_tonight_is_estimate  whether it is extrapolated from one lane, as in the timeline
    tonight_ends the next 06:00 in the time zone that was asked for
    failed       failed tasks that are kept; None if they could not be counted
    failing      recurring tasks whose last occurrence failed; None if they could not be counted
    tzdata       this editor's release of the time zones; the worker's is `last_run.tzdata`
    worker_error  why the worker cannot start; None if it can, or never tried
    limited      the actions that are paused, or whose tasks wait for their limits; each with how many wait
    calendars    the last day of each calendar of holidays, by name
    intake_waiting  messages of the intake queue that wait, are in work or come again, by SQS's estimate;
                 None if there is no intake queue, or it may not be read
    intake_dead_letters  messages of its dead-letter queue, as intake_waiting
    lost_rings   messages of the queue for rings that did not reach the worker; None if not known
    failed_runs  messages of the queue for runs that failed in all of Lambda's tries; None if not known
    problems     each with what is wrong and what to do; empty when all is well
    """

    table: str
    rule: str
    bell: BellKind = BellKind.RULE
    name: str = ""
    region: str = ""
    account: str = ""
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
    follow_ups_owed: int = 0
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
    calendars: Mapping[str, date] = {}
    intake_waiting: int | None = None
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
        worst_first = sorted([*self.problems, *problems], key=lambda one: _ORDER[one.kind])
        if any(one.kind in _CAUSES for one in worst_first):
            worst_first = [_following(one) if one.kind in _FOLLOWS else one for one in worst_first]
        return msgspec.structs.replace(self, problems=tuple(worst_first))


def _following(problem: Problem) -> Problem:
    way_out = "it follows from the first problem"
    return msgspec.structs.replace(problem, way_out=way_out, mendable=False)


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """The thorough status, the problems that were repaired just before, and advice.

    `advice` is no problem, but says what could be better: for example, that nobody is told when tasks fail.
    """

    status: SchedulerStatus
    mended: tuple[Problem, ...] = ()
    advice: tuple[Problem, ...] = ()
