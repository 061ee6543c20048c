"""Trouble with single lanes and tasks: records failed calls, and tells how long to leave each alone.

Problem: DynamoDB throttles or refuses the calls for one lane, or one item cannot be read, and everything else
is fine. Solution: a lane whose call failed pauses for a moment. After three failed calls in a row it rests,
for as long as its trouble has lasted: a minute at least, half an hour at most. A task that cannot be read is
skipped for five minutes. All other lanes and tasks go on.
"""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from duebell_shared.bell.run_notes import LastRun, RestingLane
from duebell_shared.errors import AwsError
from duebell_shared.tasks.task import QueueKey
from duebell_worker.log import emit

#: The pause of a lane after a failed call: not longer than a run stays for what is due soon.
_PAUSE = timedelta(seconds=2)

#: A lane rests after this many failed calls of one kind in a row.
_IN_A_ROW = 3

_SHORTEST_REST, _LONGEST_REST = timedelta(minutes=1), timedelta(minutes=30)

#: A task that this version cannot read is skipped for this long.
_UNREADABLE = timedelta(minutes=5)


class Call(StrEnum):
    """The kinds of calls for a lane. One kind may be refused while another is answered."""

    READ = "read"
    HEAD = "head"
    CLAIM = "claim"
    OUTCOME = "outcome"


@dataclass
class _Lane:
    """A lane in trouble.

    since      when that began, in this run or one before
    until      when it is read again
    failed     the calls of each kind that failed in a row
    rests      whether it rests, in this run or in the one before
    was_read   whether this run could read it
    """

    since: datetime
    until: datetime
    failed: Counter[Call] = field(default_factory=Counter)
    rests: bool = False
    was_read: bool = False


def _rest(since: datetime, now: datetime) -> timedelta:
    """The rest of a lane that is in trouble since then: as long as the trouble has lasted."""
    return min(max(now - since, _SHORTEST_REST), _LONGEST_REST)


class Trouble:
    """The lanes and tasks that a run leaves alone, each with its end. Thread-safe."""

    def __init__(
        self,
        run: str,
        clock: Callable[[], datetime],
        *,
        last: LastRun | None = None,
        lanes: Collection[int] = (),
    ) -> None:
        """The run holds `lanes`. Lanes that still rest since the `last` run are read after the others.

        A rest ends when its time is over, although no run since has come to its end.
        """
        self._run = run
        self._clock = clock
        self._lock = threading.Lock()
        now = clock()
        self._lanes: dict[int, _Lane] = {}
        for each in last.resting if last else ():
            if last and each.lane in lanes:
                rests_until = last.finished_at + _rest(each.since, last.finished_at)
                until = now + _PAUSE if now < rests_until else now
                self._lanes[each.lane] = _Lane(since=each.since, until=until, rests=True)
        self._was_any = bool(self._lanes)
        self._skipped: dict[QueueKey, datetime] = {}
        self._answered: set[Call] = set()
        self._errors: dict[Call, AwsError] = {}

    def failed(self, lane: int, call: Call, error: AwsError) -> None:
        """Note a failed call for this lane, unless the lane pauses: the call was under way before."""
        now = self._clock()
        with self._lock:
            self._was_any = True
            self._errors[call] = error
            trouble = self._lanes.setdefault(lane, _Lane(since=now, until=now))
            if trouble.failed and now < trouble.until:
                return
            trouble.failed[call] += 1
            trouble.rests = trouble.rests or trouble.failed[call] >= _IN_A_ROW
            trouble.until = now + (_rest(trouble.since, now) if trouble.rests else _PAUSE)
        emit(
            "lane_trouble",
            level=logging.ERROR if trouble.rests else logging.WARNING,
            run=self._run,
            lane=lane,
            call=call,
            error=str(error),
            since=trouble.since,
            again_at=trouble.until,
        )

    def answered(self, lanes: Iterable[int], call: Call) -> None:
        """Note that a call for each of these lanes was answered. A read tells nothing about writes."""
        with self._lock:
            for lane in lanes:
                self._answered.add(call)
                if (trouble := self._lanes.get(lane)) is None:
                    continue
                trouble.was_read = True
                del trouble.failed[call]
                if not trouble.failed and not (trouble.rests and call in {Call.READ, Call.HEAD}):
                    del self._lanes[lane]

    def written(self, call: Call, results: Iterable[tuple[int, object]]) -> None:
        """Note the result of each write of one call, by lane.

        A lane in which any write was answered, even with a refusal of that write, is not in trouble.
        """
        errors: dict[int, AwsError] = {}
        answered: set[int] = set()
        for lane, result in results:
            if isinstance(result, AwsError):
                errors.setdefault(lane, result)
            else:
                answered.add(lane)
        self.answered(answered, call)
        for lane in errors.keys() - answered:
            self.failed(lane, call, errors[lane])

    def again_at(self, lane: int) -> datetime | None:
        """Return when this lane may be used again; None if it may be now."""
        if not self._lanes:
            return None
        with self._lock:
            trouble = self._lanes.get(lane)
            return trouble.until if trouble and trouble.until > self._clock() else None

    def is_any(self) -> bool:
        """Tell whether any lane was in trouble, any call failed, or any task was skipped in this run.

        That counts even when the trouble is over: what ended it may have been a count, and the run has not
        read the lane since.
        """
        return self._was_any

    def resting(self, lanes: Iterable[int]) -> tuple[RestingLane, ...]:
        """Return which of these lanes rest, and since when they are in trouble."""
        with self._lock:
            known = ((lane, self._lanes[lane]) for lane in lanes if lane in self._lanes)
            return tuple(
                RestingLane(lane=lane, since=trouble.since)
                for lane, trouble in known
                if trouble.rests and (trouble.failed or not trouble.was_read)
            )

    def skip(self, key: QueueKey, *, until: datetime | None = None) -> None:
        """Skip this task until then, or for five minutes; its lane is read again by then."""
        with self._lock:
            self._was_any = True
            self._skipped[key] = until or self._clock() + _UNREADABLE

    def skip_shortly(self, key: QueueKey) -> None:
        """Skip this task for a moment, after a call that AWS refused."""
        self.skip(key, until=self._clock() + _PAUSE)

    def skipped(self, lane: int) -> dict[QueueKey, datetime]:
        """Return the tasks of this lane that are skipped now, and until when.

        Forgets the others: the run of a long-running process may last for hours.
        """
        if not self._skipped:
            return {}
        now = self._clock()
        with self._lock:
            self._skipped = {key: at for key, at in self._skipped.items() if at > now}
            return {key: at for key, at in self._skipped.items() if key.lane == lane}

    def error_of_all(self, lanes: int) -> AwsError | None:
        """Return the error of a kind of call that AWS refuses for all of the lanes; None if none is.

        It failed for two of them, or for the only one, and was answered for none: a call that failed for one
        lane and was not made for the others may be that lane's trouble alone.
        """
        with self._lock:
            failed = Counter(call for trouble in self._lanes.values() for call in trouble.failed)
            refused = (call for call in Call if failed[call] >= min(lanes, 2) and call not in self._answered)
            return next((self._errors[call] for call in refused if call in failed), None)
