"""The arming record: one value that says when the one rule must ring. Pure; time is an argument.

PutRule has no compare-and-set, and a one-shot cron that was missed never comes again. So the truth about
when to ring is one item that is only ever changed by compare-and-swap on `rev`, and the rule follows it. The
order of steps around it, in `armer.py`, makes the promise:

* an editor writes its task, *then* lowers its lane's due, *then* has the rule follow;
* a run claims lanes and arms its own watchdog (the end of its lease) before it does anything else. It sets a
  lane's due to never *before* it reads the queue's head, so that the record shows all that is added from then
  on. The rule rings again some minutes after its minute. If such an echo comes soon after the end of the
  lease, it is the watchdog, and the rule is not set;
* `armed` is unknown from before a PutRule until it is confirmed. Only one process at a time may call PutRule.
"""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Self

import msgspec
from msgspec.structs import replace

from duebell_shared.bell.expression import ECHOES, LEAD, echo_after, minute_for
from duebell_shared.instants import FIRST, MOST_SKEW, NEVER, NO_TIME, Instant, ceil_to_minute
from duebell_shared.queue.lane_sizes import GIGABYTE

#: A run that comes this long after the ring's minute, or later, was started by an echo. It is less than
#: the time to the first echo, because clocks differ.
_ECHO = timedelta(minutes=ECHOES[0]) - MOST_SKEW


class RestingLane(msgspec.Struct, frozen=True, kw_only=True):
    """A lane that runs leave alone for a while: since `since`, AWS refuses its calls or does not answer."""

    lane: int
    since: Instant


class LastRun(msgspec.Struct, frozen=True, kw_only=True):
    """The results of the run that gave lanes back last.

    run              its id
    finished_at      when it gave them back
    done, retried, failed, expired, snoozed   attempts with this outcome
    lateness_max_ms  the latest start, in milliseconds after it was due; None when nothing was started
    tzdata           the release of the worker's time zones; None if it did not say
    resting          the lanes that it left alone: AWS refused their calls or did not answer
    """

    run: str
    finished_at: Instant
    done: int = 0
    retried: int = 0
    failed: int = 0
    expired: int = 0
    snoozed: int = 0
    lateness_max_ms: int | None = None
    tzdata: str | None = None
    resting: tuple[RestingLane, ...] = ()


class LateRing(msgspec.Struct, frozen=True, kw_only=True):
    """A ring that started no run in time. A later ring did, most likely its echo. Times are UTC.

    minute   the minute that the rule was set to
    came_at  when the next run claimed its lanes
    """

    minute: Instant
    came_at: Instant


class Fullest(msgspec.Struct, frozen=True, kw_only=True):
    """The fullest lane at its last measurement: DynamoDB answers some writes with a lane's size in whole GB.

    bytes        of its item collection: tasks that wait and history; the index of the past is no part of it
    measured_at  when it was measured
    """

    lane: int
    bytes: int
    measured_at: Instant


#: The longest time from the end of a lease to an echo that is its watchdog. If the lease begins within the
#: ring's minute, the first echo comes within this time.
ECHO_SOON = timedelta(minutes=2)


#: A ring counts as missed when no claim follows within this time of its minute.
GRACE = timedelta(minutes=2)

#: The rule rings this long before a due date when tasks are to start to the second: a minute for rounding up
#: to a whole minute, a minute in which it rings anywhere, and some seconds to start a run.
HEAD_START = timedelta(seconds=130)

#: Far longer than any lease, and than any hold on the rule.
_LONGEST = timedelta(hours=1)

#: The longest time in which a run that was called directly claims its lanes, before another one is called.
_CALL = timedelta(seconds=10)

#: A count of depth and overdue tasks is valid for this long, so that many runs cost little.
_COUNT_HOLDS = timedelta(minutes=5)


class Lane(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One partition of the queue: when a run must read it, and which run holds it until when."""

    due: Instant = NEVER
    owner: str | None = None
    until: Instant = NEVER

    def wake(self, head_start: timedelta) -> datetime:
        """The time to ring for this lane: the end of the lease on it, or `head_start` before its due."""
        return self.until if self.owner else before(self.due, head_start)

    def is_free(self, now: datetime) -> bool:
        return self.owner is None or self.until <= now


def before(due: datetime, head_start: timedelta) -> datetime:
    """`head_start` before `due`; `due` itself if that is NEVER, or at the beginning of the calendar."""
    return due if due == NEVER or due < FIRST + head_start else due - head_start


class ArmingRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The lanes, from which follows when the rule must ring, and the known state of the rule.

    lanes          each lane's due and lease
    armed          the target that the rule is confirmed to ring for, or the end of a lease that an echo rings
                   for; None when unknown
    rings_at       the minute it will ring in; None at the sentinel, or when unknown
    echo_of        the minute it is set to, if `rings_at` is an echo of that; else None
    applier        the process that may call PutRule, until `applier_until`
    head_start     the time before a due date at which it must ring; set by the worker, which waits that long
    called_at      when a run was called directly; None once it has come
    last_run       the results of the run that ended last
    late_ring      the last ring that brought no run in time
    earlier        the numbers of lanes that the queue had before, oldest first: the number only grows
    relaner        the process that gives the queue more lanes; until `relaner_until` runs claim no lanes
    counted_at     when a run counted the queue's depth last
    fullest        the fullest lane, if one is known to hold 1 GB or more
    taker          the run that takes over the lanes of other runs, as long as it holds lanes itself
    limits         the `rev` of the limits that were set; 0 if there are none
    calendars      the number of calendars of holidays
    rev            counts the changes
    """

    lanes: tuple[Lane, ...] = ()
    armed: Instant | None = None
    rings_at: Instant | None = None
    echo_of: Instant | None = None
    applier: str | None = None
    applier_until: Instant = NEVER
    head_start: timedelta = NO_TIME
    called_at: Instant | None = None
    last_run: LastRun | None = None
    late_ring: LateRing | None = None
    earlier: tuple[int, ...] = ()
    relaner: str | None = None
    relaner_until: Instant = NEVER
    taker: str | None = None
    counted_at: Instant | None = None
    fullest: Fullest | None = None
    limits: int = 0
    calendars: int = 0
    rev: int = 0

    @property
    def set_to(self) -> datetime | None:
        """The minute that the rule is set to; None at the sentinel, or when unknown."""
        return self.echo_of or self.rings_at

    def is_being_applied(self, now: datetime, *, skew: timedelta = MOST_SKEW) -> bool:
        """Tell whether a PutRule may be under way, or may still take effect; clocks differ by `skew`."""
        return self.applier is not None and self.applier_until + skew > now

    @property
    def counts(self) -> tuple[int, ...]:
        """The numbers of lanes that tasks were placed by, the present one first."""
        return (len(self.lanes), *reversed(self.earlier))

    @property
    def target(self) -> datetime:
        """The time that the rule must ring for; NEVER when the queue is empty."""
        return min(lane.wake(self.head_start) for lane in self.lanes)

    @property
    def lease_end(self) -> datetime:
        """The end of the lease that ends first; NEVER if no lane is held."""
        return min((lane.until for lane in self.lanes if lane.owner), default=NEVER)

    def is_settled(self, now: datetime) -> bool:
        """Tell whether the rule is set as it must be, and has not missed its minute.

        An earlier target is no reason to set the rule if it rings soon enough for that. An echo may ring a
        while after the end of a lease, but not too late for a free lane.
        """
        if self.armed is None:
            return False
        if self.rings_at is None:  # parked
            return self.armed == self.target
        if self.rings_at + GRACE < now:
            return False
        if self.echo_of:
            free = min((lane.wake(self.head_start) for lane in self.lanes if not lane.owner), default=NEVER)
            return self.armed == self.lease_end and (free == NEVER or self.rings_at <= minute_for(free, now))
        target = self.target
        rings_soonest = target < self.armed and self.rings_at <= minute_for(target, now)
        return self.armed == target or rings_soonest

    def rings_too_late(self, now: datetime) -> bool:
        """Tell whether a run should be called directly, as the rule rings too late for what is due.

        Lanes that are held do not count, because their runs read them.
        """
        if self.is_being_relaned(now) or (self.called_at and self.called_at > now - _CALL):
            return False
        due = self.free_due(now)
        if due <= now:
            return self.rings_at is None or self.rings_at > now
        start_by = before(due, self.head_start)
        is_near = bool(self.head_start) and start_by <= now + LEAD
        return is_near and (self.rings_at is None or self.rings_at > ceil_to_minute(start_by))

    def free_due(self, now: datetime) -> datetime:
        """The earliest due, or end of a lease, of the lanes that a run may claim now; NEVER if none."""
        free = [lane for lane in self.lanes if lane.is_free(now)]
        return min((lane.until if lane.owner else lane.due for lane in free), default=NEVER)

    def is_being_relaned(self, now: datetime) -> bool:
        return self.relaner is not None and self.relaner_until > now

    def is_held_too_long(self, now: datetime) -> bool:
        """Tell whether a lease, or a hold on the rule, is too long, because of an edit or a wrong clock."""
        ends = [lane.until for lane in self.lanes if lane.owner]
        ends += [self.applier_until] if self.applier else []
        ends += [self.relaner_until] if self.relaner else []
        return max(ends, default=now) > now + _LONGEST

    def lanes_of(self, owner: str) -> tuple[int, ...]:
        return tuple(number for number, lane in enumerate(self.lanes) if lane.owner == owner)

    def owners(self, now: datetime) -> set[str]:
        return {lane.owner for lane in self.lanes if lane.owner and not lane.is_free(now)}

    def taker_for(self, owner: str, now: datetime) -> str | None:
        """The run that `owner` can give its lanes to; None if there is none."""
        return self.taker if self.taker in self.owners(now) - {owner} else None

    # Transitions of an editor.

    def lowered(self, dues: Mapping[int, datetime]) -> Self:
        """With each of these lanes due no later than its time in `dues`. Only a run raises a lane's due.

        The run that holds a lane may have read its head already, so the due of a held lane must be lowered.
        All free lanes are claimed together, and their heads are read after that. So the earliest due among
        the free lanes counts for each, and most often nothing changes.
        """
        record = self
        for number, due in sorted(dues.items(), key=lambda lane_due: lane_due[1]):
            lane = record.lanes[number]
            looked_at = lane.due if lane.owner else min(each.due for each in record.lanes if not each.owner)
            if due < looked_at:
                record = record._with({number: replace(lane, due=due)})
        return record

    def limited(self, rev: int, *, now: datetime) -> Self:
        """With limits at this `rev`, and every lane due now. The limits are written before this change."""
        return replace(self.lowered(dict.fromkeys(range(len(self.lanes)), now)), limits=max(rev, self.limits))

    # Transitions of a relaner, which gives the queue more lanes.

    def relaning(self, relaner: str, *, until: datetime) -> Self:
        """`relaner` gives the queue more lanes. Until `until`, runs claim no lanes and give theirs back."""
        return replace(self.renewed(relaner, until=until), relaner=relaner, relaner_until=until)

    def widened(self, lanes: int) -> Self:
        """With this many lanes, by which tasks are placed now; the relaner holds all of them."""
        dues = [lane.due for lane in self.lanes] + [NEVER] * (lanes - len(self.lanes))
        held = tuple(Lane(due=due, owner=self.relaner, until=self.relaner_until) for due in dues)
        earlier = self.earlier if lanes == len(self.lanes) else (*self.earlier, len(self.lanes))
        return replace(self.unarmed(), lanes=held, earlier=earlier)

    def relaned(self, heads: Mapping[int, datetime]) -> Self:
        """The lanes of `heads` given back by the relaner as in `released`, and no relaner any more."""
        released = self.released(self.relaner, heads) if self.relaner else self
        return replace(released, relaner=None, relaner_until=NEVER)

    # Transitions of a run.

    def claimed(
        self, owner: str, *, now: datetime, until: datetime, only: Collection[int] | None = None
    ) -> Self:
        """All free lanes, or the free ones in `only`, held by `owner` until `until`.

        The owner reads their heads next. The ring for these lanes does not come again. So the rule counts as
        unarmed, unless its echo comes soon after the end of the lease that ends first. Lanes that stay
        without an owner get the earliest due of all lanes without an owner: `lowered` relies on that.

        If there is no lane to claim, and the rule may have rung, the rule counts as unarmed, too: clocks
        differ, and the lease that it rang for may not have ended yet.
        """
        free = [number for number, lane in enumerate(self.lanes) if lane.is_free(now)]
        free = [] if self.is_being_relaned(now) else free
        mine = [number for number in free if only is None or number in only]
        if not mine:
            may_have_rung = self.rings_at is not None and self.rings_at <= now + MOST_SKEW
            return self.unarmed() if may_have_rung else self
        unowned = {number: lane for number, lane in enumerate(self.lanes) if not lane.owner}
        soonest = min((lane.due for lane in unowned.values()), default=NEVER)
        left = {number: replace(lane, due=soonest) for number, lane in unowned.items() if number not in mine}
        claimed = {number: Lane(owner=owner, until=until) for number in mine}
        record = self._with({**left, **claimed})
        late = self.late_ring
        if self.rings_at is not None and now >= self.rings_at + _ECHO:
            late = LateRing(minute=self.rings_at, came_at=now)
        return replace(record, called_at=None, late_ring=late).rung(now, record.lease_end)

    def renewed(self, owner: str, *, until: datetime) -> Self:
        """The lanes that `owner` holds, held until `until`. An echo that comes soon after is the watchdog."""
        mine = self.lanes_of(owner)
        record = self._with({number: replace(self.lanes[number], until=until) for number in mine})
        return record.echoing(self.echo_of, record.lease_end) if self.echo_of else record

    def cleared(self, owner: str) -> Self:
        """The dues of the lanes that `owner` holds set to never, to be done *before* their heads are read."""
        mine = self.lanes_of(owner)
        return self._with({number: replace(self.lanes[number], due=NEVER) for number in mine})

    def untouched(self, owner: str) -> set[int]:
        """The lanes that `owner` holds to which nothing was added since `cleared`."""
        return {number for number in self.lanes_of(owner) if self.lanes[number].due == NEVER}

    def released(self, owner: str, heads: Mapping[int, datetime], *, run: LastRun | None = None) -> Self:
        """The lanes of `heads` that `owner` holds, given back.

        Each is due at its head, or sooner if a task was added since `cleared`.
        """
        mine = [number for number in self.lanes_of(owner) if number in heads]
        record = self._with({number: Lane(due=min(self.lanes[number].due, heads[number])) for number in mine})
        return replace(record, last_run=run) if mine and run else record

    def handed_over(self, owner: str, heads: Mapping[int, datetime], *, now: datetime) -> Self:
        """These lanes given back, and `called_at` set to now.

        The caller starts runs for them, so other processes call none.
        """
        return replace(self.released(owner, heads), called_at=now)

    # Measurements of runs.

    def counting(self, now: datetime) -> Self:
        """With `counted_at` now, if the last count is too old: the run that makes this change counts."""
        is_known = self.counted_at is not None and now - _COUNT_HOLDS < self.counted_at <= now + MOST_SKEW
        return self if is_known else replace(self, counted_at=now)

    def measured(self, sizes: Mapping[int, int], now: datetime) -> Self:
        """With the sizes of these lanes in bytes. Changes nothing while the fullest lane holds as many GB."""
        known = self.fullest
        sizes = {known.lane: known.bytes, **sizes} if known else sizes
        lane, size = max(sizes.items(), key=lambda lane_size: lane_size[1], default=(0, 0))
        if size // GIGABYTE == (known.bytes if known else 0) // GIGABYTE:
            return self
        return replace(self, fullest=Fullest(lane=lane, bytes=size, measured_at=now))

    # Transitions of runs that wait at the same time, so that one of them takes over all lanes.

    def taking(self, owner: str, *, now: datetime) -> Self:
        """`owner` takes over the lanes of other runs from now on, unless another run does."""
        return self if self.taker_for(owner, now) else replace(self, taker=owner)

    def not_taking(self, owner: str) -> Self:
        return replace(self, taker=None) if self.taker == owner else self

    def given(
        self, owner: str, heads: Mapping[int, datetime], *, now: datetime, run: LastRun | None = None
    ) -> Self:
        """The lanes of `heads` that `owner` holds given to the run that takes lanes over, if one does.

        They are due as in `released`, and never free in between. The taker's lease is their watchdog, and the
        rule rings soon enough for it. The taker finds them when it reads the record next, and clears them
        first.
        """
        taker = self.taker_for(owner, now)
        mine = [number for number in self.lanes_of(owner) if number in heads]
        if taker is None or not mine:
            return self
        until = min(self.lanes[number].until for number in self.lanes_of(taker))
        given = {
            number: Lane(due=min(self.lanes[number].due, heads[number]), owner=taker, until=until)
            for number in mine
        }
        return replace(self._with(given), last_run=run or self.last_run)

    # Transition of a process that wants a run at once.

    def called(self, now: datetime) -> Self:
        """With `called_at` now, if a run must be called directly: whoever makes this change calls it."""
        return replace(self, called_at=now) if self.rings_too_late(now) else self

    # Transitions of a process that sets the rule.

    def applying(self, applier: str, *, until: datetime) -> Self:
        """Only `applier` may call PutRule until `until`. Meanwhile the minute of the rule is unknown."""
        return replace(self.unarmed(), applier=applier, applier_until=until)

    def confirmed(
        self,
        applier: str,
        target: datetime,
        rings_at: datetime | None,
        *,
        now: datetime,
        may_land_again: bool,
    ) -> Self:
        """`applier` has set the rule for `target`, to ring at `rings_at`, and was answered before `now`.

        If the answer came before `applier_until`, the rule counts as confirmed. Other processes may set it
        from now on, unless an unanswered try may still take effect. If the answer came later, the state of
        the rule is unknown: the minute may be over, or another process may have set the rule.
        """
        if self.applier != applier:
            return self.disputed()
        if self.applier_until <= now:
            return self.disputed().unheld()
        confirmed = replace(self, armed=target, rings_at=rings_at, echo_of=None)
        return confirmed if may_land_again else confirmed.unheld()

    def unheld(self) -> Self:
        return replace(self, applier=None, applier_until=NEVER)

    def disputed(self) -> Self:
        """The rule's minute is unknown. A process that is setting it cannot confirm, but keeps its hold."""
        return replace(self.unarmed(), applier=self.applier and "disputed")

    def unarmed(self) -> Self:
        return replace(self, armed=None, rings_at=None, echo_of=None)

    def rung(self, now: datetime, lease_end: datetime) -> Self:
        """The rule has rung. If it rang in the minute that it is set to, its echo may be the watchdog."""
        has_rung = self.rings_at is not None and self.rings_at <= now and self.echo_of is None
        return self.echoing(self.rings_at, lease_end) if self.rings_at and has_rung else self.unarmed()

    def echoing(self, minute: datetime, lease_end: datetime) -> Self:
        """The rule is set to `minute`, which is over: armed if an echo comes soon after the lease's end."""
        echo = echo_after(minute, lease_end)
        if echo is None or echo > lease_end + ECHO_SOON:
            return self.unarmed()
        return replace(self, armed=lease_end, rings_at=echo, echo_of=minute)

    def ringing_ahead(self, head_start: timedelta) -> Self:
        """With the rule ringing this long before due dates. The worker waits from then to the due date."""
        return replace(self, head_start=head_start)

    def _with(self, changed: Mapping[int, Lane]) -> Self:
        return replace(self, lanes=tuple(changed.get(number, lane) for number, lane in enumerate(self.lanes)))
