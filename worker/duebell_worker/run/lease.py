"""A run's exclusive, expiring hold on lanes; its end is the run's watchdog.

Lambda invokes a failed run again with the same request id, and may deliver one invocation twice. So a run is
named `<request id>.<nonce>`: the tries of one invocation recognise each other, and none mistakes another's
lease for its own.
"""

import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Self

import msgspec

from duebell_shared.bell.armer import Armer, new_applier
from duebell_shared.bell.arming import ArmingRecord, Lane, LastRun
from duebell_shared.bell.run_rules import LEASE


class LeaseLost(Exception):
    """The lease ran out before it was renewed, and another run may hold the lanes: write nothing more."""


def new_run_id(request: str) -> str:
    return f"{request}.{uuid.uuid4().hex[:8]}"


def request_of(owner: str) -> str:
    """Return the request that this run is for."""
    return owner.partition(".")[0]


def other_try_ends(lanes: Iterable[Lane], owner: str, now: datetime) -> datetime | None:
    """Return the end of the lease that another try of the owner's request holds; None if none does.

    The other try has died; or the invocation was delivered twice, and the other try is alive. Only the end of
    its lease tells: a living run renews its lease before.
    """
    others = ((lane.owner, lane.until) for lane in lanes if lane.owner and not lane.is_free(now))
    request = request_of(owner)
    ends = (until for other, until in others if other != owner and request_of(other) == request)
    return max(ends, default=None)


class Lease(msgspec.Struct, eq=False):
    """The lanes that one run holds, claimed all at once by `claim`.

    until   the lease's end
    seen    the record as it was seen last
    lanes   the lanes that `owner` holds
    quiet   lanes in which nothing was due when they were read, with their heads; read after the last `clear`
    heads   the heads of all lanes, after their due tasks have run; None if they are not known, or not since
            the last `clear`
    applier  the name under which this run took hold of the rule with its last change; `arm` sets it
    counts  whether this run must count the queue, now that it has given the lanes back
    died    the runs that held these lanes before and did not give them back, with the ends of their leases
    claim_at  the end of the lease of another try of this run's invocation: until then none is claimed
    """

    armer: Armer
    owner: str
    clock: Callable[[], datetime]
    until: datetime
    seen: ArmingRecord = ArmingRecord()
    lanes: tuple[int, ...] = ()
    quiet: dict[int, datetime] = {}
    heads: dict[int, datetime] | None = None
    counts: bool = False
    died: dict[str, datetime] = {}
    claim_at: datetime | None = None
    applier: str | None = None

    @classmethod
    def claim(
        cls,
        armer: Armer,
        owner: str,
        clock: Callable[[], datetime],
        *,
        only: Collection[int] | None = None,
        head_start: timedelta | None = None,
        has_waited: bool = False,
    ) -> Self:
        """Claim the free lanes, or the free ones of `only`; perhaps none.

        With the lanes, this run takes hold of the rule if it must be set; call `arm` next, before any task
        runs. From now on the rule rings `head_start` before due dates; None changes nothing about that.

        Unless the run `has_waited` until then, it claims no lane before `claim_at`. Problem: a minute after a
        run has died, Lambda tries it again. The lease of the dead run has another minute to go. A try that
        found all lanes held would succeed, and be the last. Solution: it waits for that lease to end. Only
        the end counts, as the other try may be alive.
        """
        lease = cls(armer, owner, clock, clock() + (armer.lease or LEASE))

        def claim(record: ArmingRecord) -> ArmingRecord:
            lease.claim_at = None if has_waited else other_try_ends(record.lanes, owner, clock())
            if lease.claim_at:
                return record
            ahead = record if head_start is None else record.ringing_ahead(head_start)
            claimed = ahead.claimed(owner, now=clock(), until=lease.until, only=only)
            return claimed.renewed(owner, until=lease.until)

        lease._claim(claim)
        return lease

    def claim_more(self) -> None:
        """Claim all other free lanes, until this lease's end, and arm the rule; see `claim`.

        The caller must read all lanes then. Raises LeaseLost, NotArmed.
        """
        self.died = {}

        def claim(record: ArmingRecord) -> ArmingRecord:
            return record.claimed(self.owner, now=self.clock(), until=self.until)

        self._claim(claim, seen=self.seen)
        self.arm()

    def _claim(self, claim: Callable[[ArmingRecord], ArmingRecord], seen: ArmingRecord | None = None) -> None:
        """Change the record by `claim`, and note which runs have died with lanes that this run holds now."""
        before: dict[int, Lane] = {}

        def noted(record: ArmingRecord) -> ArmingRecord:
            before.update((n, lane) for n, lane in enumerate(record.lanes) if lane.owner != self.owner)
            return claim(record)

        self._check(self._change(noted, seen=seen))
        held = (before[lane] for lane in self.lanes if lane in before)
        self.died = {lane.owner: lane.until for lane in held if lane.owner}

    def arm(self) -> None:
        """Set the rule to ring soon after this lease ends, or another that ends sooner. Raises NotArmed."""
        # Each name is used once: a call that failed under it may still take effect.
        applier, self.applier = self.applier, None
        self.seen = self.armer.ensure(self.seen, applier=applier)

    def is_held(self) -> bool:
        return self.clock() < self.until

    @property
    def renew_at(self) -> datetime:
        return self.until - (self.armer.lease or LEASE) / 2

    def renew(self) -> None:
        """Hold the lanes for longer: the record first, then the rule. Raises LeaseLost, NotArmed."""
        until = self.clock() + (self.armer.lease or LEASE)
        self._check(self._change(lambda record: record.renewed(self.owner, until=until), seen=self.seen))
        self.until = until
        self.arm()

    def clear(self) -> dict[int, datetime]:
        """Set the lanes' dues to never, so that they show what is added from now on. Raises LeaseLost.

        Returns the `quiet` lanes to which nothing was added since they were read, with their heads: these
        need not be read again. A head that was cancelled meanwhile costs one ring for nothing.
        """
        quiet, self.quiet, self.heads = self.quiet, {}, None
        untouched: set[int] = set()

        def clear(record: ArmingRecord) -> ArmingRecord:
            nonlocal untouched
            untouched = record.untouched(self.owner)
            return record.cleared(self.owner)

        self._check(self.armer.change(clear))
        return {lane: head for lane, head in quiet.items() if lane in untouched}

    def next_due(self) -> datetime:
        """Return the earliest due date that was added since `clear`. Raises LeaseLost."""
        record = self.armer.read()
        self._check(record)
        return min(record.lanes[lane].due for lane in self.lanes)

    @property
    def must_leave(self) -> bool:
        """True if the queue is given more lanes, by the record as it was seen last: runs leave then."""
        return self.seen.is_being_relaned(self.clock())

    def take_over(self) -> None:
        """Take over the lanes of other runs from now on, if there are other runs and none of them does so.

        Raises NotArmed.
        """
        now = self.clock()
        if self.seen.taker != self.owner and self.seen.owners(now) - {self.owner}:
            self.seen = self.armer.change(lambda record: record.taking(self.owner, now=now))

    def stop_taking_over(self) -> None:
        if self.seen.taker == self.owner:
            self.seen = self.armer.change(lambda record: record.not_taking(self.owner))

    def hand_over(self, heads: Mapping[int, datetime]) -> None:
        """Give these lanes back, as in `release`, and keep the others. Raises LeaseLost, NotArmed."""
        record = self._change(lambda record: record.handed_over(self.owner, heads, now=self.clock()))
        self.lanes = tuple(lane for lane in self.lanes if lane not in heads)
        self._check(record)
        self.arm()

    def release(
        self,
        heads: Mapping[int, datetime],
        *,
        unless_due_within: timedelta | None,
        unless_added: bool = False,
        to_taker: bool = False,
        run: LastRun | None = None,
        sizes: Mapping[int, int] | None = None,
    ) -> datetime | None:
        """Give the lanes back, due at these heads or at what was added since `clear`, and re-arm the rule.

        unless_due_within  if one of them is due within this time, all are kept
        unless_added       if anything was added since `clear`, all are kept: the heads may be outdated
        to_taker           if another run takes lanes over, it gets them, unless one of them is due already
        run                the run's results, for the record
        sizes              the lanes' sizes in bytes, for the record; None if the run does not measure

        Returns None if the lanes were given back, else when they must be read. Lanes that were lost
        since `clear` are left to the run that holds them. If other runs gave this one lanes since, it keeps
        all and must read them now. Raises NotArmed.
        """
        soonest, now, is_kept = None, self.clock(), False

        def release(record: ArmingRecord) -> ArmingRecord:
            nonlocal soonest, now, is_kept
            now = self.clock()
            is_released = run is not None and record.last_run == run  # by a try whose answer was lost
            is_kept = unless_added and not is_released and record.untouched(self.owner) != set(self.lanes)
            if is_kept:
                soonest = now
                return record
            measured = record if sizes is None else record.counting(now).measured(sizes, now)
            released = measured.released(self.owner, heads, run=run)
            soonest = min(released.lanes[lane].due for lane in self.lanes)
            if released.lanes_of(self.owner):
                soonest = now
                return record
            is_due = unless_due_within is not None and soonest <= now
            given = measured.given(self.owner, heads, now=now, run=run)
            if to_taker and not is_due and given != measured:
                return given
            is_near = unless_due_within is not None and soonest <= now + unless_due_within
            return record if is_near else released

        record = self._change(release, seen=self.seen)
        self.seen = record
        if is_kept or record.lanes_of(self.owner):
            return soonest
        self.counts = sizes is not None and record.counted_at == now
        self.until = self.clock()
        self.arm()
        return None

    def _change(
        self, transition: Callable[[ArmingRecord], ArmingRecord], *, seen: ArmingRecord | None = None
    ) -> ArmingRecord:
        """Change the record, and take hold of the rule if it must be set; call `arm` then."""
        self.applier = new_applier()
        return self.armer.change(transition, seen=seen, applier=self.applier)

    def _check(self, record: ArmingRecord) -> None:
        """Note which lanes this run holds now: other runs may have given it theirs. Raises LeaseLost."""
        lanes = record.lanes_of(self.owner)
        if not set(self.lanes) <= set(lanes):
            raise LeaseLost
        self.lanes = lanes
        self.seen = record
