"""A run's exclusive, expiring hold on lanes; its end is the run's watchdog."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from duebell_shared.armer import Armer
from duebell_shared.arming import ArmingRecord

__all__ = ["LEASE", "Lease", "LeaseLost"]

#: Short, so that a dead run is noticed soon, whatever the Lambda's own time-out; renewed at half.
LEASE = timedelta(minutes=2)


class LeaseLost(Exception):
    """The lease ran out before it was renewed, and another run may hold the lanes: write nothing more."""


class Lease:
    """The lanes that one run holds. All free lanes are claimed at once, and given back at once."""

    def __init__(self, armer: Armer, owner: str, clock: Callable[[], datetime]) -> None:
        """Claim the lanes that are free: all, some, or none when other runs hold them.

        An owner that holds lanes already, for it failed and tries again, keeps them.
        """
        self._armer = armer
        self._owner = owner
        self._clock = clock
        self._until = clock() + LEASE
        until = self._until
        record = armer.change(
            lambda record: record.claimed(owner, now=clock(), until=until).renewed(owner, until=until)
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

    def release(self, heads: Mapping[int, datetime], *, even_if_due: bool) -> bool:
        """Give the lanes back, due at these heads or at what was added since `clear`, and re-arm the rule.

        Not if one of them is due already, unless told to: then False, and the lanes are still held. Lanes
        that were lost since `clear` are left to whoever holds them. Raises NotArmed.
        """

        def release(record: ArmingRecord) -> ArmingRecord:
            released = record.released(self._owner, heads)
            is_due = any(released.lanes[lane].due <= self._clock() for lane in self.lanes)
            return record if is_due and not even_if_due else released

        record = self._armer.change(release)
        if record.lanes_of(self._owner):
            return False
        self._until = self._clock()
        self._armer.ensure(record)
        return True

    def _check(self, record: ArmingRecord) -> None:
        if record.lanes_of(self._owner) != self.lanes:
            raise LeaseLost
