"""More lanes for a queue in use: no process is stopped, and no task is lost, moved twice or hidden.

The steps; a crash or an error is safe after each:

1. Mark the arming record. From then on runs claim no lanes, and runs that hold lanes leave.
2. When no run holds a lane: one swap of the record gives the queue its new lanes, all held by the relaner.
   The rule is armed for the end of its lease, in case it dies. From then on tasks are placed by the new
   number of lanes.
3. Move tasks that wait, run or are paused to the lane of their id, each in one transaction, until a pass
   finds none. Ended tasks stay: they are found by the earlier numbers of lanes, which the record keeps.
4. Clear the lanes and read their heads. One swap gives the lanes back and removes the mark. Arm the rule.

After a crash or an error the lease ends, the rule rings, and runs go on: they read all lanes, wherever a task
is. The mark stays, and says that the relane must be repeated. Until then some ids cost a second read; there
is no other harm.
"""

import heapq
import itertools
import uuid
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

import msgspec

from duebell_shared.backend import Backend
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.errors import DuebellError, InvalidSettings, TaskConflict
from duebell_shared.instants import NEVER
from duebell_shared.queue.places import Past, lane_of
from duebell_shared.settings import MAX_LANES
from duebell_shared.tasks.task import QueueKey

#: The relaner's lease of the lanes and of the mark. As long as a run's lease.
LEASE = timedelta(minutes=2)

#: The longest wait for runs to leave: an invocation of a Lambda lasts 15 minutes at most, and a lease two.
_PATIENCE = timedelta(minutes=18)

#: Seconds between two checks whether runs have left.
_LOOK_AGAIN = 1.0

#: Tasks in a group, moved one after the other; and groups moved in parallel before the lease is checked.
_GROUP, _GROUPS = 10, 32

#: Passes in a row that move none of the tasks they find, before giving up; and seconds between two.
_PASSES, _PAUSE = 5, 2.0


class Relaned(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a relane: the number of lanes, of tasks moved, and the ids of tasks left behind."""

    lanes: int
    moved: int = 0
    left: tuple[str, ...] = ()


def relane(backend: Backend, lanes: int) -> Relaned:
    """Do what `Editor.relane` does."""
    record = backend.armer.read()
    before = len(record.lanes)
    if type(lanes) is not int or not before <= lanes <= MAX_LANES:
        raise InvalidSettings("lanes", f"must be {before}, as many as there are, to {MAX_LANES}")
    if lanes == before and record.relaner is None:
        return Relaned(lanes=lanes)
    relaner = _Relaner(backend, lanes)
    relaner.mark()
    relaner.widen()
    relaner.move()
    return relaner.finish()


class _Relaner:
    """One relane and its state."""

    def __init__(self, backend: Backend, lanes: int) -> None:
        self._backend = backend
        self._store = backend.store
        self._armer = backend.armer
        self._clock = backend.clock
        self._lanes = lanes
        self._me = uuid.uuid4().hex
        self._moved = 0
        self._left: list[str] = []

    def mark(self) -> None:
        """Mark the record, so that runs leave. Raises TaskConflict when another process has marked it."""

        def mark(record: ArmingRecord) -> ArmingRecord:
            if record.is_being_relaned(self._clock()):
                raise TaskConflict(
                    "another process is giving the queue more lanes, or has died: try again in two minutes"
                )
            return record.relaning(self._me, until=until)

        until = self._clock() + LEASE
        self._armer.change(mark)

    def widen(self) -> None:
        """Add the lanes once no run holds one, and hold them all. Raises TaskConflict, NotArmed."""
        give_up = self._clock() + _PATIENCE
        runs: set[str] = set()

        def widen(record: ArmingRecord) -> ArmingRecord:
            nonlocal runs
            if record.relaner != self._me:
                raise _lost()
            runs = record.owners(self._clock())
            if not runs:
                return record.relaning(self._me, until=until).widened(self._lanes)
            is_half_over = self._clock() >= record.relaner_until - LEASE / 2
            return record.relaning(self._me, until=until) if is_half_over else record

        while True:
            until = self._clock() + LEASE
            record = self._armer.change(widen)
            if not runs:
                break
            if self._clock() > give_up:
                raise TaskConflict(f"run {min(runs)} still holds lanes: wait until it is over, and try again")
            self._backend.sleep(_LOOK_AGAIN)
        self._armer.ensure(record)

    def move(self) -> None:
        """Move tasks to the lane of their id, in passes, until one finds none, or some passes move none."""
        idle = 0
        while idle < _PASSES:
            moved = self._moved
            errors = self._pass()
            if self._moved > moved:
                idle = 0
                continue
            if not self._left:
                return
            idle += 1
            self._backend.sleep(_PAUSE)
        if errors:
            raise errors[-1]

    def finish(self) -> Relaned:
        """Give the lanes back, due at their heads, and remove the mark. Raises TaskConflict, NotArmed."""
        self._armer.change(lambda record: self._check_holds(record).cleared(self._me))
        heads = self._armer.heads(range(self._lanes))
        record = self._armer.ensure(
            self._armer.change(lambda record: self._check_holds(record).relaned(heads))
        )
        self._backend.armer.start_run_if_late(record)
        return Relaned(lanes=self._lanes, moved=self._moved, left=tuple(sorted(self._left)))

    def _pass(self) -> list[DuebellError]:
        """Move the tasks that are misplaced now, in groups. Returns errors; `_left` has the ids that stay."""
        errors: list[DuebellError] = []
        self._left = []
        keys = self._misplaced()
        while batch := list(itertools.islice(keys, _GROUP * _GROUPS)):
            groups = [batch[first : first + _GROUP] for first in range(0, len(batch), _GROUP)]
            moves = self._backend.parallel.all(
                lambda group: self._store.relocate(group, lanes=self._lanes, now=self._clock()), groups
            )
            for key, outcome in zip(batch, itertools.chain(*moves), strict=True):
                if outcome is True:
                    self._moved += 1
                    continue
                self._left.append(key.id)
                if isinstance(outcome, DuebellError):
                    errors.append(outcome)
            self._renew(batch)
        return errors

    def _misplaced(self) -> Iterator[QueueKey]:
        """The keys of tasks that wait, run or are paused in another lane than that of their id."""
        lanes = range(max(self._armer.read().earlier, default=0))
        for key in itertools.chain(heapq.merge(*map(self._store.queued, lanes)), *map(self._paused, lanes)):
            if lane_of(key.id, self._lanes) != key.lane:
                yield key

    def _paused(self, lane: int) -> Iterator[QueueKey]:
        for kind in (Past.PAUSED, Past.PAUSED_RECURRING, Past.BLOCKED):
            for key in self._store.past(lane, kind):
                yield QueueKey(queued=NEVER, id=key.id, lane=lane)

    def _renew(self, moved: Sequence[QueueKey]) -> None:
        """Renew the lease. Raises TaskConflict when it was lost.

        In that case a run may have read the heads of the new lanes before these tasks were moved there. So
        the rule is armed for them first, as an editor does.
        """

        def renew(record: ArmingRecord) -> ArmingRecord:
            return record.relaning(self._me, until=until) if self._holds(record) else record

        until = self._clock() + LEASE
        record = self._armer.change(renew)
        if self._holds(record):
            self._armer.ensure(record)
            return
        dues: dict[int, datetime] = {}
        for key in moved:
            lane = lane_of(key.id, self._lanes)
            dues[lane] = min(key.queued, dues.get(lane, NEVER))
        self._armer.lower(dues)
        self._check_holds(record)

    def _holds(self, record: ArmingRecord) -> bool:
        return record.relaner == self._me and len(record.lanes_of(self._me)) == len(record.lanes)

    def _check_holds(self, record: ArmingRecord) -> ArmingRecord:
        if not self._holds(record):
            raise _lost()
        return record


def _lost() -> TaskConflict:
    return TaskConflict("this took too long, and others went on meanwhile: repeat it with the same number")
