"""The lanes of a run: reads them side by side, and writes claims and outcomes to them.

Problem: DynamoDB throttles or refuses the calls for one lane, or one item cannot be read, and everything else
is fine. Solution: a lane whose call failed pauses for a moment. After three failed calls in a row it rests
for as long as its trouble has lasted, from a minute to half an hour. A task that cannot be read is
skipped for five minutes. All other lanes and tasks go on.
"""

import heapq
import itertools
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Generic, TypeVar

import msgspec

from duebell_shared.bell.arming import LastRun, RestingLane
from duebell_shared.bell.run_rules import IN_SIGHT, MOST_IN_SIGHT, MOST_WITH_PRIORITIES
from duebell_shared.errors import AwsError, DuebellError
from duebell_shared.instants import NEVER
from duebell_shared.queue.store import AT_ONCE
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import QueueKey, Task
from duebell_worker.log import LogLine, emit
from duebell_worker.run.context import RunContext
from duebell_worker.run.lease import Lease

#: The pause of a lane after a failed call: not longer than a run stays for what is due soon.
PAUSE = timedelta(seconds=2)

#: A lane rests after this many failed calls of one kind in a row.
_IN_A_ROW = 3

_SHORTEST_REST, _LONGEST_REST = timedelta(minutes=1), timedelta(minutes=30)

#: A task that this version cannot read is skipped for this long.
_UNREADABLE = timedelta(minutes=5)


class Call(StrEnum):
    """The kinds of calls for a lane. One kind may be refused while another is answered.

    COPY are the reads that tell whether a task in an earlier lane is a stray copy.
    """

    READ = "read"
    HEAD = "head"
    CLAIM = "claim"
    OUTCOME = "outcome"
    COPY = "copy"


class _LaneTrouble(msgspec.Struct, kw_only=True):
    """A lane in trouble.

    since      the beginning of the trouble, in this run or one before
    until      when it is read again
    failed     the calls of each kind that failed in a row
    rests      whether it rests, in this run or in the one before
    was_read   whether this run could read it
    """

    since: datetime
    until: datetime
    failed: Counter[Call] = msgspec.field(default_factory=Counter)
    rests: bool = False
    was_read: bool = False


def _rest(since: datetime, now: datetime) -> timedelta:
    return min(max(now - since, _SHORTEST_REST), _LONGEST_REST)


class Trouble:
    """The lanes and tasks that a run leaves alone, each until a time. Thread-safe.

    was_any  whether any lane was in trouble in this run, or any task was skipped; also if that is over
    """

    def __init__(
        self,
        run: str,
        clock: Callable[[], datetime],
        *,
        last: LastRun | None = None,
        lanes: Collection[int] = (),
    ) -> None:
        """The run holds `lanes`. Those that still rest since the `last` run first pause for a moment.

        So the other lanes are read first. A rest ends when its time is over, even if no run has ended since.
        """
        self._run = run
        self._clock = clock
        self._lock = threading.Lock()
        now = clock()
        self._lanes: dict[int, _LaneTrouble] = {}
        for each in last.resting if last else ():
            if last and each.lane in lanes:
                rests_until = last.finished_at + _rest(each.since, last.finished_at)
                until = now + PAUSE if now < rests_until else now
                self._lanes[each.lane] = _LaneTrouble(since=each.since, until=until, rests=True)
        self.was_any = bool(self._lanes)
        self._skipped: dict[QueueKey, datetime] = {}
        self._answered: set[Call] = set()
        self._errors: dict[Call, AwsError] = {}

    def failed(self, lane: int, call: Call, error: AwsError) -> None:
        """Note a failed call for this lane, unless the lane pauses: such a call began before the pause."""
        now = self._clock()
        with self._lock:
            self.was_any = True
            self._errors[call] = error
            trouble = self._lanes.setdefault(lane, _LaneTrouble(since=now, until=now))
            if trouble.failed and now < trouble.until:
                return
            trouble.failed[call] += 1
            trouble.rests = trouble.rests or trouble.failed[call] >= _IN_A_ROW
            trouble.until = now + (_rest(trouble.since, now) if trouble.rests else PAUSE)
        emit(
            LogLine.LANE_TROUBLE,
            level=logging.ERROR if trouble.rests else logging.WARNING,
            run=self._run,
            lane=lane,
            call=call,
            error=str(error),
            since=trouble.since,
            again_at=trouble.until,
        )

    def note(self, call: Call, results: Iterable[tuple[int, object]]) -> None:
        """Note the result of each read or write of one call, by lane. A read tells nothing about writes.

        A lane in which any read or write was answered, even with a refusal, is not in trouble.
        """
        errors: dict[int, AwsError] = {}
        answered: set[int] = set()
        for lane, result in results:
            if isinstance(result, AwsError):
                errors.setdefault(lane, result)
            else:
                answered.add(lane)
        with self._lock:
            if answered:
                self._answered.add(call)
            for lane in answered & self._lanes.keys():
                trouble = self._lanes[lane]
                trouble.was_read = True
                del trouble.failed[call]
                if not trouble.failed and not (trouble.rests and call in {Call.READ, Call.HEAD}):
                    del self._lanes[lane]
        for lane in errors.keys() - answered:
            self.failed(lane, call, errors[lane])

    def again_at(self, lane: int) -> datetime | None:
        """Return when this lane may be used again; None if it may be now."""
        if not self._lanes:
            return None
        with self._lock:
            trouble = self._lanes.get(lane)
            return trouble.until if trouble and trouble.until > self._clock() else None

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
            self.was_any = True
            self._skipped[key] = until or self._clock() + _UNREADABLE

    def skipped(self, lane: int) -> dict[QueueKey, datetime]:
        """Return the tasks of this lane that are skipped now, and until when; forget the others."""
        if not self._skipped:
            return {}
        now = self._clock()
        with self._lock:
            self._skipped = {key: at for key, at in self._skipped.items() if at > now}
            return {key: at for key, at in self._skipped.items() if key.lane == lane}

    def error_of_all(self, lanes: int) -> AwsError | None:
        """Return the error of a kind of call that AWS refuses for all of the lanes; None if none is.

        The call failed for two lanes or more, or for the only one, and was answered for none.
        """
        with self._lock:
            failed = Counter(call for trouble in self._lanes.values() for call in trouble.failed)
            refused = (call for call in Call if failed[call] >= min(lanes, 2) and call not in self._answered)
            return next((self._errors[call] for call in refused if call in failed), None)


_A = TypeVar("_A")
_T = TypeVar("_T")

#: Keys read of each lane at first: a hundred bytes each, so that they cost one read unit of 4 KB.
_FEW = 25


class Lanes:
    """Reads the lanes that are not in trouble, and writes to them while the lease is held. Thread-safe.

    A lane that cannot be read or written does not hinder the others. Reads raise NotDeployed.

    released  the due times of tasks that were parked by a pause that has ended; see Limits.released
    """

    def __init__(self, context: RunContext, lease: Lease, trouble: Trouble) -> None:
        self.trouble = trouble
        self.released: Collection[datetime] = ()
        self._context = context
        self._store = context.backend.store
        self._lease = lease

    def queued(
        self, lanes: Iterable[int], *, now: datetime
    ) -> tuple[dict[int, datetime], Iterator[QueueKey]]:
        """Return the heads of the lanes in which nothing is due yet, and the keys of all, earliest first."""
        keys = {lane: self._store.queued(lane, page_size=_FEW) for lane in lanes}
        first = self._each(keys, lambda lane: next(keys[lane], None))
        heads = {lane: key.queued if key else NEVER for lane, key in first.items()}
        quiet = {lane: head for lane, head in heads.items() if head > now}
        streams = (self._from(key, keys[lane]) for lane, key in first.items() if key)
        return quiet, heapq.merge(*streams, key=lambda key: (key.order, key.id))

    def parked(self, lanes: Iterable[int]) -> dict[int, Iterator[QueueKey]]:
        """Return the keys of the tasks at `released`, by lane, of the lanes that have some."""
        if not self.released:
            return {}
        keys = {lane: self._parked_in(lane) for lane in lanes}
        first = self._each(keys, lambda lane: next(keys[lane], None))
        return {lane: self._from(key, keys[lane]) for lane, key in first.items() if key}

    def ahead(self, lanes: Iterable[int], *, after: datetime, before: datetime, most: int) -> list[QueueKey]:
        """Return the first keys between these times: at most this many of each lane, without gaps."""

        def read(lane: int) -> list[QueueKey]:
            keys = self._store.queued(lane, after=after, before=before, page_size=most)
            return list(itertools.islice(keys, most))

        found = [keys for keys in self._each(lanes, read).values() if keys]
        last = min((keys[-1].queued for keys in found if len(keys) == most), default=before)
        return [key for key in itertools.chain.from_iterable(found) if key.queued <= last]

    def heads(self, lanes: Iterable[int]) -> dict[int, datetime]:
        """Return when each lane must be read next: at its head, or when its trouble is over."""
        lanes = tuple(lanes)
        heads = self._each(lanes, self._head, call=Call.HEAD)
        return {lane: heads.get(lane) or self.trouble.again_at(lane) or self._context.now() for lane in lanes}

    def counts(self, lanes: Iterable[int], *, before: datetime = NEVER, most: int) -> dict[int, int]:
        """Count the tasks of each lane until `before`, up to `most`; without lanes that cannot be read."""
        return self._each(lanes, lambda lane: self._store.count(lane, before=before, most=most))

    def tasks_of(self, keys: Collection[QueueKey]) -> dict[QueueKey, Task]:
        """Read the tasks with these keys; without those that are not there or cannot be read."""
        try:
            found = self._store.get_many(keys) if keys else {}
        except AwsError:
            found = {}
        return {key: found[key.id] for key in keys if key.id in found}

    def _parked_in(self, lane: int) -> Iterator[QueueKey]:
        for at in sorted(self.released):
            yield from self._store.queued(lane, after=at, before=at, page_size=_FEW)

    def _head(self, lane: int) -> datetime:
        head, now = self._store.head(lane), self._context.now()
        skipped = self.trouble.skipped(lane)
        if head > now and any(key not in skipped for key in self._parked_in(lane)):
            return now
        if head > now or not skipped:
            return head
        return min(self._store.head(lane, skipping=skipped), *skipped.values())

    def _from(self, first: QueueKey, others: Iterator[QueueKey]) -> Iterator[QueueKey]:
        yield first
        try:
            yield from others
        except AwsError as error:
            self.trouble.failed(first.lane, Call.READ, error)

    def _each(
        self, lanes: Iterable[int], read: Callable[[int], _T], *, call: Call = Call.READ
    ) -> dict[int, _T]:
        lanes = [lane for lane in lanes if self.trouble.again_at(lane) is None]
        answers = list(zip(lanes, self._context.backend.parallel(read, lanes), strict=True))
        for _, answer in answers:
            if isinstance(answer, DuebellError) and not isinstance(answer, AwsError):
                raise answer
        self.trouble.note(call, answers)
        return {lane: answer for lane, answer in answers if not isinstance(answer, DuebellError)}

    def claim(self, keys: Sequence[QueueKey], status: Status) -> list[Task | BaseException | None]:
        """Claim the tasks with these keys and this status; return each as claimed, in order.

        In place of a task: the error; or None if it was not eligible, or the lease is lost.
        """

        def claim(keys: Sequence[QueueKey]) -> Sequence[Task | BaseException | None]:
            id, now = self._context.id, self._context.now()
            return self._store.claim_many(keys, run=id, now=now, status=status)

        return self._write(Call.CLAIM, claim, keys, [key.lane for key in keys])

    def save(self, changes: Sequence[tuple[Task, Task | None]]) -> list[bool | BaseException | None]:
        """Write these changes; return for each True, or the error.

        False if someone else changed the task meanwhile, None if the lease is lost.
        """
        return self._write(Call.OUTCOME, self._store.save_many, changes, [old.lane for old, _ in changes])

    def _write(
        self,
        call: Call,
        write: Callable[[Sequence[_A]], Sequence[_T | BaseException | None]],
        batch: Sequence[_A],
        lanes: Sequence[int],
    ) -> list[_T | BaseException | None]:
        """Write these in batches of AT_ONCE; each alone if a batch raises, by a bug or an odd item."""
        size = AT_ONCE
        if len(batch) <= AT_ONCE:
            if not self._lease.is_held():
                return [None] * len(batch)
            try:
                results = list(write(batch))
            except BaseException as error:  # noqa: BLE001
                if not batch[1:] or not isinstance(error, Exception):
                    return [error] * len(batch)
                size = 1
            else:
                self.trouble.note(call, zip(lanes, results, strict=True))
                return results
        parts = [slice(first, first + size) for first in range(0, len(batch), size)]
        return [one for part in parts for one in self._write(call, write, batch[part], lanes[part])]


class ReadAhead:
    """The keys of tasks that are due, in order of the queue, some of them read ahead.

    next_due  the first due date in the future, once the reading has come to it; NEVER before
    """

    def __init__(
        self,
        keys: Iterator[QueueKey],
        *,
        now: datetime,
        skipping: Collection[QueueKey],
        parked: Iterable[Iterator[QueueKey]] = (),
    ) -> None:
        """`parked` are keys that are due whatever time they have."""
        self.next_due = NEVER
        released = (key for key in itertools.chain.from_iterable(parked) if key not in skipping)
        self._keys = itertools.chain(released, self._due(keys, now, skipping))
        self._in_sight: list[tuple[int, datetime, int, QueueKey]] = []
        self._has_priorities = False
        self._read = 0

    def __bool__(self) -> bool:
        self._read_to(IN_SIGHT)
        return bool(self._in_sight)

    def read_on(self) -> None:
        most = MOST_WITH_PRIORITIES if self._has_priorities else MOST_IN_SIGHT
        self._read_to(min(len(self._in_sight) + IN_SIGHT, most))

    def pop(self) -> QueueKey:
        """Take the task with the highest priority, of several the one that comes first."""
        return heapq.heappop(self._in_sight)[-1]

    def _read_to(self, count: int) -> None:
        for key in itertools.islice(self._keys, max(count - len(self._in_sight), 0)):
            self._has_priorities = self._has_priorities or key.priority > 0
            self._read += 1
            heapq.heappush(self._in_sight, (-key.priority, key.queued, self._read, key))

    def _due(
        self, keys: Iterator[QueueKey], now: datetime, skipping: Collection[QueueKey]
    ) -> Iterator[QueueKey]:
        for key in keys:
            if key.queued > now:
                self.next_due = key.queued
                return
            if key not in skipping:
                yield key


#: Seconds for which a thread waits for the items of others: a fiftieth of the call that follows.
_GATHERING = 0.0001


class Batcher(Generic[_T]):
    """A call that takes all items that were brought while earlier calls were under way.

    An item that comes alone is handled alone, by the thread that brings it. Under load there are few calls
    with many items. No thread waits for a call of another: it leaves its item to the calls under way.

    Problem: of actions that end together, the first was recorded alone, so each round took a call more.
    Solution: a thread of the pool first waits a moment for the others. Draining takes half of the calls.
    """

    def __init__(self, call: Callable[[list[_T]], None], *, most: int, side_by_side: int = 2) -> None:
        """`call` gets one to `most` items at a time, and must raise nothing.

        side_by_side  the number of calls at a time, so that a slow one does not hold up all items
        """
        self._call = call
        self._most = most
        self._side_by_side = side_by_side
        self._lock = threading.Lock()
        self._waiting: list[_T] = []
        self._calls = 0

    def __call__(self, *items: _T) -> None:
        """Have these items handled: here, or in later batches of other threads."""
        with self._lock:
            self._waiting += items
            if self._calls == self._side_by_side:
                return
            self._calls += 1
        if threading.current_thread() is not threading.main_thread():
            time.sleep(_GATHERING)
        while batch := self._take():
            self._call(batch)

    def _take(self) -> list[_T]:
        with self._lock:
            if not self._waiting:
                self._calls -= 1
                return []
            batch, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
            return batch
