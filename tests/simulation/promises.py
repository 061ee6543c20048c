"""What duebell promises, held against what really happened in a simulated history."""

from collections import defaultdict
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from duebell import Status, Task
from duebell_editor.library.relane import LEASE
from duebell_shared.bell.expression import FAR_SENTINEL, SENTINEL
from duebell_shared.instants import FIRST, NEVER
from duebell_shared.queue.places import lane_of
from tests.support import minute_of

from .notes import LIMITS, Known, Start

if TYPE_CHECKING:
    from .history import History

__all__ = ["Promises"]

#: Once nothing goes wrong any more, a task that has waited is started within so long: by an echo at the
#: latest, which comes within an hour.
HEALED = timedelta(minutes=75)


class Promises:
    """The promises of one history that was played to its end."""

    def __init__(self, played: "History") -> None:
        self._played = played
        self._aws, self._known, self._starts = played.aws, played.known, played.starts
        self._tasks = list((played.network or played.aws.store).tasks.values())

    def broken(self) -> list[str]:
        """Says which promises the history broke, and for which task; nothing if all is well."""
        tasks = {task.id: task for task in self._tasks}
        by_transactions = self._played.transactor.known if self._played.transactor else {}
        following = self._played.following.known_of(self._tasks) if self._played.following else {}
        known_of_all = {**self._known, **by_transactions, **following}
        acknowledged = {id: known for id, known in known_of_all.items() if known.acknowledged_at}
        return [
            *self._played.failures,
            *(f"{id} was acknowledged and is gone" for id in acknowledged if id not in tasks),
            *(
                self._unfinished(tasks[id])
                for id in acknowledged
                if id in tasks and _is_unfinished(tasks[id])
            ),
            *(f"{start.id} was started early, {start}" for start in self._starts if start.clock < start.due),
            *self._late_ones(tasks, acknowledged),
            *self._beyond_limits(tasks),
            *(
                f"{start.id} ran after it was cancelled"
                for start in self._starts
                if self._was_cancelled(start)
            ),
            *self._rule_is_wrong(),
            *self._misplaced(),
            *self._wrong_follow_ups(),
            *(self._played.putting_off.wrong if self._played.putting_off else ()),
            *(self._played.timing_out.problems(self._tasks) if self._played.timing_out else ()),
            *(self._played.resting.problems(self._tasks, self._starts) if self._played.resting else ()),
            *self._played.lock_waits,
            *(self._played.batching.problems(self._tasks, self._starts) if self._played.batching else ()),
            *(self._played.transactor.problems(self._tasks, self._starts) if self._played.transactor else ()),
        ]

    def _wrong_follow_ups(self) -> list[str]:
        played = self._played
        if played.following is None:
            return []
        return played.following.problems(
            self._tasks, self._starts, skew=played.faults.skew, pushes=played.putting_off is not None
        )

    def _misplaced(self) -> list[str]:
        """What the relaner got wrong."""
        if self._played.relaner is None:
            return []
        record = (self._played.network or self._aws.store).record
        places = [(task.lane, task.id) for task in self._tasks]
        return self._played.relaner.problems(places, record.counts if record else ())

    def _is_late(self, known: Known, task: Task | None) -> bool:
        """Whether the task was not started within the bound, though nothing went wrong any more.

        A task that failed without a start is visible: its process died just before its last attempt.
        """
        is_out = known.pending or known.may_be_out
        if task is None or known.acknowledged_at is None or is_out or task.status is Status.FAILED:
            return False
        held_until = self._played.held_until.get(known.action, known.due)
        calm_from = max(self._aws.calm_from(task.lane), self._relaned_until)
        by = max(known.due, known.acknowledged_at, calm_from, held_until) + HEALED
        # Tasks that a dead process left running are run one at a time, at most a minute apart.
        after_deaths = timedelta(minutes=sum(start.attempt > 1 for start in self._starts))
        return not any(
            known.asked_at <= start.at <= (by + after_deaths if start.attempt > 1 else by)
            for start in self._starts_of[task.id]
        )

    @cached_property
    def _relaned_until(self) -> datetime:
        """When runs could start tasks again after the last process that gave the queue more lanes."""
        relaner = self._played.relaner
        return relaner.last_at + LEASE if relaner and relaner.last_at else FIRST

    @cached_property
    def _starts_of(self) -> dict[str, list[Start]]:
        starts: dict[str, list[Start]] = defaultdict(list)
        for start in self._starts:
            starts[start.id].append(start)
        return starts

    def _late_ones(self, tasks: dict[str, Task], acknowledged: dict[str, Known]) -> list[str]:
        known_of = ((id, known, tasks.get(id)) for id, known in acknowledged.items())
        return [self._late(id, known) for id, known, task in known_of if self._is_late(known, task)]

    def _late(self, id: str, known: Known) -> str:
        starts = ", ".join(f"{start.at:%H:%M:%S}" for start in self._starts_of[id]) or "never"
        calm = f"calm since {self._aws.calm_from(lane_of(id, self._played.settings.lanes)):%H:%M:%S}"
        return f"{id} was due at {known.due:%H:%M:%S}, {calm}, started {starts}"

    def _unfinished(self, task: Task) -> str:
        return f"{task.id} is still {task.status}, queued for {task.queued}; the rule: {self._aws.expression}"

    def _was_cancelled(self, start: Start) -> bool:
        known = self._known.get(start.id)
        # A task that was claimed may be cancelled; its attempt is made all the same.
        margin = timedelta(seconds=5 + self._played.faults.skew)
        return bool(known and known.cancelled_at and known.cancelled_at < start.claimed_at - margin)

    def _beyond_limits(self, tasks: dict[str, Task]) -> list[str]:
        return [
            f"{start.id} had attempt {start.attempt}"
            for start in self._starts
            if start.attempt > LIMITS[tasks[start.id].action]
        ]

    def _rule_is_wrong(self) -> list[str]:
        # A reserved task whose service died before it armed needs no ring: DynamoDB deletes it.
        queued = [task for task in self._tasks if task.queued and task.status is not Status.RESERVED]
        waiting = [task.queued for task in queued if task.queued]
        # What a process stored that died then, and no call or run came after, waits for the next of these.
        skew = timedelta(seconds=self._played.faults.skew)
        is_healed = not any(task.created_at + skew < self._played.last_healed for task in queued)
        if is_healed and (queued or self._aws.expression in {SENTINEL, FAR_SENTINEL}):
            return []
        minute = minute_of(self._aws.expression, self._played.world.now - timedelta(minutes=5))
        head, now = min(waiting, default=NEVER), self._played.world.now
        slack = timedelta(minutes=5)
        if minute and (now < minute <= head <= minute + slack or (minute > now - slack and head <= minute)):
            return []
        return [f"the rule is at {self._aws.expression}, the queue's head at {min(waiting, default=None)}"]


def _is_unfinished(task: Task) -> bool:
    return task.status in {Status.SCHEDULED, Status.RUNNING}
