"""A run's exclusive, expiring hold on lanes; its end is the run's watchdog."""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta

from duebell_shared.armer import Armer
from duebell_shared.arming import ArmingRecord
from duebell_shared.run_notes import LastRun, RestingLane

__all__ = ["LEASE", "Lease", "LeaseLost"]

#: Short, so that a dead run is noticed soon, whatever the Lambda's own time-out; renewed at half.
LEASE = timedelta(minutes=2)


class LeaseLost(Exception):
    """The lease ran out before it was renewed, and another run may hold the lanes: write nothing more."""


class Lease:
    """The lanes that one run holds, claimed all at once."""

    def __init__(
        self,
        armer: Armer,
        owner: str,
        clock: Callable[[], datetime],
        *,
        only: Collection[int] | None = None,
        head_start: timedelta = timedelta(0),
    ) -> None:
        """Claim the lanes that are free: all, some, or none when other runs hold them; or of `only` these.

        `counts` is whether this run is to count the queue, once it has given the lanes back.

        An owner that holds lanes already, for it failed and tries again, keeps them. From now on the rule
        rings `head_start` before due dates.
        """
        self._armer = armer
        self._owner = owner
        self._clock = clock
        self._until = clock() + LEASE
        until = self._until
        record = armer.change(
            lambda record: (
                record.ringing_ahead(head_start)
                .claimed(owner, now=clock(), until=until, only=only)
                .renewed(owner, until=until)
            )
        )
        self.lanes = record.lanes_of(owner)
        #: Lanes in which nothing was due when they were read, with their heads; read after the last `clear`.
        self.quiet: dict[int, datetime] = {}
        self.counts = False
        self._seen = record

    def arm(self) -> None:
        """Set the rule to ring at this lease's end, or another's that ends sooner. Raises NotArmed."""
        self._armer.ensure()

    def is_held(self) -> bool:
        """Whether no other run can have claimed the lanes."""
        return self._clock() < self._until

    @property
    def renew_at(self) -> datetime:
        """When half of the lease is over."""
        return self._until - LEASE / 2

    def renew(self) -> None:
        """Hold the lanes for longer: the record first, then the rule. Raises LeaseLost, NotArmed."""
        until = self._clock() + LEASE
        record = self._armer.change(lambda record: record.renewed(self._owner, until=until))
        self._check(record)
        self._until = until
        self._armer.ensure(record)

    def clear(self) -> dict[int, datetime]:
        """Forget the lanes' dues, so that whatever is added from now on shows in them. Raises LeaseLost.

        Returns the `quiet` lanes to which nothing was added since, with their heads: these need not be read
        again. A head among them may be one that was cancelled meanwhile; the rule rings for it once.
        """
        quiet, self.quiet = self.quiet, {}
        untouched: set[int] = set()

        def clear(record: ArmingRecord) -> ArmingRecord:
            nonlocal untouched
            untouched = record.untouched(self._owner)
            return record.cleared(self._owner)

        self._check(self._armer.change(clear))
        return {lane: head for lane, head in quiet.items() if lane in untouched}

    def next_due(self) -> datetime:
        """When the lanes must be looked at, by what was added since `clear`. Raises LeaseLost."""
        record = self._armer.read()
        self._check(record)
        return min(record.lanes[lane].due for lane in self.lanes)

    @property
    def seen(self) -> ArmingRecord:
        """The record as it was seen last."""
        return self._seen

    def resting(self, lanes: Collection[int] | None = None) -> tuple[RestingLane, ...]:
        """The lanes that rest, of these or all, by the record as it was seen last."""
        last_run = self._seen.last_run
        return tuple(
            each for each in (last_run.resting if last_run else ()) if lanes is None or each.lane in lanes
        )

    @property
    def must_leave(self) -> bool:
        """Whether, by the record as it was seen last, the queue is given more lanes: runs leave then."""
        return self._seen.is_relaned(self._clock())

    def has_taker(self) -> bool:
        """Whether, by the record as it was seen last, another run would take these lanes over."""
        return self._seen.taker_for(self._owner, self._clock()) is not None

    def take_over(self) -> None:
        """Take over the lanes of other runs from now on, if there are others and none of them does.

        Raises NotArmed.
        """
        now = self._clock()
        if self._seen.taker != self._owner and self._seen.owners(now) - {self._owner}:
            self._seen = self._armer.change(lambda record: record.taking(self._owner, now=now))

    def stop_taking_over(self) -> None:
        """Take over no more lanes. Raises NotArmed."""
        if self._seen.taker == self._owner:
            self._seen = self._armer.change(lambda record: record.not_taking(self._owner))

    def hand_over(self, heads: Mapping[int, datetime]) -> None:
        """Give these lanes back, as in `release`, and keep the others. Raises LeaseLost, NotArmed."""
        record = self._armer.change(lambda record: record.handed_over(self._owner, heads, now=self._clock()))
        self.lanes = tuple(lane for lane in self.lanes if lane not in heads)
        self._check(record)
        self._armer.ensure(record)

    def release(
        self,
        heads: Mapping[int, datetime],
        *,
        unless_due_within: timedelta | None,
        to_taker: bool = False,
        run: LastRun | None = None,
        sizes: Mapping[int, int] | None = None,
    ) -> datetime | None:
        """Give the lanes back, due at these heads or at what was added since `clear`, and re-arm the rule.

        unless_due_within  not if one of them is due in so long: the lanes are still held, and what is
                           returned is when they must be looked at
        to_taker           if another run takes lanes over, it gets them, unless one of them is due already
        run                what came of the run, for the record
        sizes              bytes that lanes hold, likewise, if the run measures the queue

        Lanes that were lost since `clear` are left to whoever holds them. If this run was given others since,
        it must look at these first, and gives none back. Raises NotArmed.
        """
        soonest, now = None, self._clock()

        def release(record: ArmingRecord) -> ArmingRecord:
            nonlocal soonest, now
            now = self._clock()
            measured = record if sizes is None else record.counting(now).measured(sizes, now)
            released = measured.released(self._owner, heads, run=run)
            soonest = min(released.lanes[lane].due for lane in self.lanes)
            if released.lanes_of(self._owner):
                soonest = now
                return record
            is_due = unless_due_within is not None and soonest <= now
            given = measured.given(self._owner, heads, now=now, run=run)
            if to_taker and not is_due and given != measured:
                return given
            is_near = unless_due_within is not None and soonest <= now + unless_due_within
            return record if is_near else released

        record = self._armer.change(release)
        self._seen = record
        if record.lanes_of(self._owner):
            return soonest
        self.counts = sizes is not None and record.counted_at == now
        self._until = self._clock()
        self._armer.ensure(record)
        return None

    def _check(self, record: ArmingRecord) -> None:
        """Note which lanes this run holds now: other runs may have given it theirs. Raises LeaseLost."""
        lanes = record.lanes_of(self._owner)
        if not set(self.lanes) <= set(lanes):
            raise LeaseLost
        self.lanes = lanes
        self._seen = record
