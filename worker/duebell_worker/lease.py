"""A run's exclusive, expiring hold on lanes; its end is the run's watchdog."""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta

from duebell_shared.armer import Armer
from duebell_shared.arming import ArmingRecord, LastRun

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

    def clear(self) -> None:
        """Forget the lanes' dues, so that whatever is added from now on shows in them. Raises LeaseLost."""
        self._check(self._armer.change(lambda record: record.cleared(self._owner)))

    def next_due(self) -> datetime:
        """When the lanes must be looked at, by what was added since `clear`. Raises LeaseLost."""
        record = self._armer.read()
        self._check(record)
        return min(record.lanes[lane].due for lane in self.lanes)

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
        run: LastRun | None = None,
    ) -> datetime | None:
        """Give the lanes back, due at these heads or at what was added since `clear`, and re-arm the rule.

        unless_due_within  not if one of them is due in so long: the lanes are still held, and what is
                           returned is when they must be looked at
        run                what came of the run, for the record

        Lanes that were lost since `clear` are left to whoever holds them. Raises NotArmed.
        """
        soonest = None

        def release(record: ArmingRecord) -> ArmingRecord:
            nonlocal soonest
            released = record.released(self._owner, heads, run=run)
            soonest = min(released.lanes[lane].due for lane in self.lanes)
            is_near = unless_due_within is not None and soonest <= self._clock() + unless_due_within
            return record if is_near else released

        record = self._armer.change(release)
        if record.lanes_of(self._owner):
            return soonest
        self._until = self._clock()
        self._armer.ensure(record)
        return None

    def _check(self, record: ArmingRecord) -> None:
        if record.lanes_of(self._owner) != self.lanes:
            raise LeaseLost
