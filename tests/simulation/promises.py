"""Compares the promises of duebell with the events of a simulated history."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from duebell import Status, Task
from duebell_editor.library.relane import LEASE
from duebell_shared.bell.expression import FAR_SENTINEL, SENTINEL
from duebell_shared.instants import FIRST, NEVER
from duebell_shared.queue.places import lane_of
from tests.support import minute_of

from .parts.following import Following
from .parts.limits import Limits
from .parts.part import LIMITS, Known, Start
from .parts.relaning import Relaning
from .parts.transacting import Transacting

if TYPE_CHECKING:
    from .history import History

#: Once nothing goes wrong any more, a task that has waited is started within so long: by an echo at the
#: latest, which comes within an hour.
HEALED = timedelta(minutes=75)


class Promises:
    """The promises of one history that was played to its end."""

    def __init__(self, played: "History") -> None:
        self._played = played
        self._aws, self._starts = played.aws, played.starts
        self._stored = list(played.stored.tasks.values())
        self._tasks = {task.id: task for task in self._stored}
        self._starts_of: dict[str, list[Start]] = defaultdict(list)
        for start in self._starts:
            self._starts_of[start.id].append(start)

    def broken(self) -> Iterator[str]:
        yield from self._played.failures
        yield from self._played.lock_waits
        for id, known in self._acknowledged.items():
            task = self._tasks.get(id)
            if task is None:
                yield f"{id} was acknowledged and is gone"
            elif task.status in {Status.SCHEDULED, Status.RUNNING}:
                yield f"{id} is still {task.status}, queued for {task.queued}; see {self._aws.expression}"
            elif self._is_late(known, task):
                starts = ", ".join(f"{start.at:%H:%M:%S}" for start in self._starts_of[id]) or "never"
                calm = self._aws.calm_from(lane_of(id, self._played.settings.lanes))
                yield f"{id} was due at {known.due:%H:%M:%S}, calm since {calm:%H:%M:%S}, started {starts}"
        for start in self._starts:
            if start.clock < start.due:
                yield f"{start.id} was started early, {start}"
            if start.attempt > LIMITS[self._tasks[start.id].action]:
                yield f"{start.id} had attempt {start.attempt}"
            if self._was_cancelled(start):
                yield f"{start.id} ran after it was cancelled"
        yield from self._rule_is_wrong()
        for part in self._played.parts:
            yield from part.problems(self._stored, self._starts)

    @cached_property
    def _acknowledged(self) -> dict[str, Known]:
        transacting, following = self._played.part(Transacting), self._played.part(Following)
        known = {
            **self._played.known,
            **(transacting.known if transacting else {}),
            **(following.known_of(self._stored) if following else {}),
        }
        return {id: one for id, one in known.items() if one.acknowledged_at}

    def _is_late(self, known: Known, task: Task) -> bool:
        """True if the task was not started within the bound, though there were no more faults.

        A task that failed without a start is visible: its process died just before its last attempt.
        """
        is_out = known.pending or known.may_be_out
        if known.acknowledged_at is None or is_out or task.status is Status.FAILED:
            return False
        limits = self._played.part(Limits)
        held_until = limits.held_until.get(known.action, known.due) if limits else known.due
        calm_from = max(self._aws.calm_from(task.lane), self._relaned_until)
        by = max(known.due, known.acknowledged_at, calm_from, held_until) + HEALED
        is_limited = limits is not None and any(limits.declared(known.action).values())
        # Tasks that a dead process left running are run one at a time, at most a minute apart. One that waits
        # for a limit loses its turn to each process that dies meanwhile.
        after_deaths = [start.at for start in self._starts if start.attempt > 1]

        def in_time(start: Start) -> bool:
            deaths = len(after_deaths) if start.attempt > 1 else 0
            if is_limited and not deaths:
                deaths = sum(calm_from <= at <= start.at for at in after_deaths)
            return known.asked_at <= start.at <= by + timedelta(minutes=deaths)

        return not any(map(in_time, self._starts_of[task.id]))

    @cached_property
    def _relaned_until(self) -> datetime:
        """When runs could start tasks again after the last process that gave the queue more lanes."""
        relaning = self._played.part(Relaning)
        return relaning.last_at + LEASE if relaning and relaning.last_at else FIRST

    def _was_cancelled(self, start: Start) -> bool:
        known = self._played.known.get(start.id)
        # A task that was claimed may be cancelled; its attempt is made all the same.
        margin = timedelta(seconds=5 + self._played.faults.skew)
        return bool(known and known.cancelled_at and known.cancelled_at < start.claimed_at - margin)

    def _rule_is_wrong(self) -> Iterator[str]:
        # A reserved task whose service died before it armed needs no ring: DynamoDB deletes it.
        queued = [task for task in self._stored if task.queued and task.status is not Status.RESERVED]
        head = min((task.queued for task in queued if task.queued), default=NEVER)
        # A process that stored a task and died leaves it to the next call or run.
        skew = timedelta(seconds=self._played.faults.skew)
        is_healed = not any(task.created_at + skew < self._played.last_healed for task in queued)
        if is_healed and (queued or self._aws.expression in {SENTINEL, FAR_SENTINEL}):
            return
        now, slack = self._played.world.now, timedelta(minutes=5)
        minute = minute_of(self._aws.expression, now - slack)
        if minute and (now < minute <= head <= minute + slack or (minute > now - slack and head <= minute)):
            return
        yield f"the rule is at {self._aws.expression}, the queue's head at {head}"


def lateness(played: "History", *, known_for: float = 0, succession: float = 0) -> list[float]:
    """The lateness of the first attempts, in seconds from the acknowledgement of the task.

    Not of tasks in a lane that is out.

    known_for   only of tasks that were acknowledged so many seconds before they were due
    succession  not of tasks that came due at most so many seconds after a run was called directly: it may
                be the successor of one whose time was over
    """
    calls = played.aws.called_at if succession else []
    first: dict[str, float] = {}
    for start in played.starts:
        known = played.known.get(start.id)
        is_out = lane_of(start.id, played.settings.lanes) in played.aws.lane_outage.of
        if is_out or known is None or known.acknowledged_at is None:
            continue
        if any(timedelta(0) <= start.due - at <= timedelta(seconds=succession) for at in calls):
            continue
        if start.attempt == 1 and start.due == known.due:
            late = (start.at - max(start.due, known.acknowledged_at)).total_seconds()
            if not known_for or (known.due - known.acknowledged_at).total_seconds() >= known_for:
                first.setdefault(start.id, late)
    return list(first.values())
