"""The limits of actions: attempts at a time, starts a second, and closed hours, over all runs together.

Code declares them; `duebell limit` overrides them while the system is running. The overrides are one item of
the queue beside the arming record, which has their `rev`. So a run reads them only if there are any, and only
when they have changed. Pure; time is an argument.

The attempts that all runs have started are counted by the action's semaphore, in one item of the queue. A run
changes it by compare-and-swap on its `rev`. The rate is the generic cell rate algorithm ("virtual
scheduling"): the item holds the time of the next start. https://www.itu.int/rec/T-REC-I.371 annex A

A task that cannot be started is put back to a place in a line, once. If it cannot be started then either, for
example because no run came in time, it gets a place in a second, short line. So it does not wait behind all
others. Only started attempts count for the limit; a place in a line promises nothing. So the limit holds even
if processes die or come late. A run that dies loses places and starts of this second, but no task.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Self

import msgspec
from msgspec.structs import asdict, replace

from duebell_shared.errors import InvalidTask
from duebell_shared.instants import EPOCH, FIRST, LATEST, NO_TIME, Instant, to_utc
from duebell_shared.quoting import quoted
from duebell_shared.tasks.checks import check_count

#: The largest limits that can be given. One item counts the attempts of an action, and DynamoDB takes 1,000
#: writes to one item a second.
MOST_AT_A_TIME, MOST_PER_SECOND = 10_000, 1_000

#: About once in three hours.
LEAST_PER_SECOND = 0.0001

#: A task of a paused action waits at least this long, and at most a day longer, before a run reads it again.
_PARKED_FOR = timedelta(hours=1)
_DAY = timedelta(days=1)

#: A run may use an old limit for this long: runs read limits when they renew their lease, and clocks differ.
_STALE = timedelta(hours=1)

_MILLISECONDS_A_DAY = 86_400_000

#: Characters of closed hours.
_MOST_CLOSED = 200


class Limit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The limit of an action; None for no limit of the kind, 0 for paused.

    at_most     attempts at a time
    per_second  attempts that are started a second
    closed      the hours in which nothing is started, such as `22:00-06:00 Europe/Berlin`; `never` for none
    """

    at_most: int | None = None
    per_second: float | None = None
    closed: str | None = None

    @property
    def is_any(self) -> bool:
        return self.is_counted or self.closed is not None

    @property
    def is_counted(self) -> bool:
        """True if a semaphore counts its attempts."""
        return self.at_most is not None or self.per_second is not None

    @property
    def is_paused(self) -> bool:
        return self.at_most == 0 or self.per_second == 0

    def under(self, override: "Limit | None") -> "Limit":
        """This declared limit, with the values that the override sets."""
        if override is None:
            return self
        set_ones = {name: value for name in asdict(self) if (value := getattr(override, name)) is not None}
        return replace(self, **set_ones)

    def checked(self, *, may_pause: bool = True) -> "Limit":
        """The limit, with closed hours as they are stored. Raises InvalidTask."""
        return Limit(
            at_most=check_at_most(self.at_most, least=0 if may_pause else 1),
            per_second=check_per_second(self.per_second, may_pause=may_pause),
            closed=check_closed(self.closed),
        )

    def closed_until(self, at: datetime) -> datetime | None:
        """When the action opens, if it is closed at this time; None if it is open."""
        if self.closed is None:
            return None
        from .closed_hours import closed_hours  # noqa: PLC0415 (most actions have none)

        return closed_hours(self.closed).closed_until(at)


class Override(Limit, frozen=True, kw_only=True, omit_defaults=True):
    """The limit that was set for an action in place of its declared one; None for a value as declared.

    since    when it was set
    resumed  when the action's last pause ended; None if none has ended
    line     the end of the line of tasks that waited at `since`; None if there was none
    parked   the times that tasks may have been put back to by earlier closed hours
    by       the author, as given to the editor; None if none was given
    """

    since: Instant
    resumed: Instant | None = None
    line: Instant | None = None
    parked: tuple[Instant, ...] = ()
    by: str | None = None


class Limits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The overrides, by action, and the number of their changes, stored beside the rest.

    A removed override stays for two days, without values: its action may have been paused. It stays longer
    while tasks may wait for the end of closed hours.
    """

    overrides: Mapping[str, Override] = {}
    rev: int = 0

    def changed(
        self,
        action: str,
        limit: Limit,
        *,
        now: datetime,
        declared: Limit = Limit(),  # noqa: B008 (a value)
        line: datetime | None = None,
        by: str | None = None,
    ) -> Self:
        """With this override for the action; unchanged if it has the same override already."""
        before = self.overrides.get(action)
        if limit == Limit().under(before):
            return self
        kept = {
            name: one
            for name, one in self.overrides.items()
            if one.is_any or now < max((one.since + 2 * _DAY, *one.parked))
        }
        resumed = before.resumed if before else None
        if before and before.is_paused and not limit.is_paused:
            resumed = to_utc(now)
        parked = {at for at in before.parked if at > now} if before else set()
        parked |= _reopenings(action, declared.under(before), now)
        parked -= _reopenings(action, declared.under(limit), now)
        new = Override(
            **asdict(limit),
            parked=tuple(sorted(parked)),
            since=to_utc(now),
            resumed=resumed,
            line=to_utc(line) if line else None,
            by=by,
        )
        return replace(self, overrides={**kept, action: new})

    def of(self, action: str, declared: Limit) -> Limit:
        """The limit of this action that holds now."""
        return declared.under(self.overrides.get(action))

    def parked(self, now: datetime) -> dict[datetime, str]:
        """The future times that tasks of paused actions may be parked until, each with its action."""
        return {
            at: action
            for action, one in self.overrides.items()
            if one.is_paused
            for at in _parking_times(action, now)
        }

    def lines(self, now: datetime) -> dict[str, datetime]:
        """The actions whose limits were changed while tasks waited in a line, and the end of that line.

        Tasks that still wait may be started sooner now.
        """
        lines = ((action, one.line) for action, one in self.overrides.items() if not one.is_paused)
        return {action: line for action, line in lines if line and line > now}

    def released(self, now: datetime) -> dict[datetime, str]:
        """The future times that tasks were parked until by a pause or closed hours that have ended.

        Each comes with its action. These tasks are due now.
        """
        found: dict[datetime, str] = {}
        for action, override in self.overrides.items():
            if override.is_paused:
                continue
            found |= {at: action for at in override.parked if at > now}
            if override.resumed:
                last = override.resumed + _PARKED_FOR + _DAY + _STALE
                found |= {at: action for at in _parking_times(action, now) if at <= last}
        return found


def parked_until(action: str, now: datetime) -> datetime:
    """The time that a task of this action is put back to while the action is paused: 1 to 25 hours ahead.

    It is the same for all tasks of the action in a day, so that they can be found when the action is resumed.
    It is no whole second, and most likely no other action has the same time.
    """
    return next(at for at in _parking_times(action, now + _PARKED_FOR))


def reopening(action: str, opens: datetime, now: datetime) -> datetime:
    """The time that a task of this action is put back to while the action is closed until `opens`.

    It is up to a second before, by the name of the action, so that its tasks can be found when its hours
    change. A run that comes in that second puts them back to `opens` itself.
    """
    at = opens - timedelta(milliseconds=1 + _digest(action) % 999)
    return at if at > now else opens


def _reopenings(action: str, limit: Limit, now: datetime) -> set[datetime]:
    """The times to which runs may put tasks back by these closed hours, until all runs know newer ones."""
    opens = (limit.closed_until(at) for at in (now, now + _PARKED_FOR))
    return {reopening(action, at, now) for at in opens if at}


def _parking_times(action: str, after: datetime) -> Iterable[datetime]:
    """The three times after this at which tasks of the action may be parked."""
    offset = _digest(action) % _MILLISECONDS_A_DAY
    offset += offset % 1_000 == 0
    first = EPOCH + timedelta(milliseconds=offset)
    day = (after - first) // _DAY + 1
    return tuple(first + (day + more) * _DAY for more in range(3))


def _digest(action: str) -> int:
    return int.from_bytes(hashlib.sha256(action.encode()).digest()[:8])


def check_at_most(given: object, *, least: int = 0) -> int | None:
    """`given` if it can be a limit of attempts at a time; None if not given. Raises InvalidTask."""
    return None if given is None else check_count("at_most", given, least=least, most=MOST_AT_A_TIME)


def check_per_second(given: object, *, may_pause: bool = True) -> float | None:
    """`given` if it can be a rate of attempts a second; None if not given. Raises InvalidTask."""
    if given is None:
        return None
    if (
        isinstance(given, int | float)
        and not isinstance(given, bool)
        and (LEAST_PER_SECOND <= given <= MOST_PER_SECOND or (may_pause and given == 0))
    ):
        return given
    pauses = ", or 0 to pause" if may_pause else ""
    raise InvalidTask(
        "per_second",
        f"must be a number, {LEAST_PER_SECOND} to {MOST_PER_SECOND:,}{pauses}, not {quoted(given)}",
    )


def check_closed(given: object) -> str | None:
    """The text of closed hours, in one form for the same windows; None if not given. Raises InvalidTask."""
    if given is None:
        return None
    if not isinstance(given, str) or len(given) > _MOST_CLOSED:
        raise InvalidTask(
            "closed", f"must be a text of at most {_MOST_CLOSED} characters, not {quoted(given)}"
        )
    from .closed_hours import closed_hours  # noqa: PLC0415 (most actions have none)

    return closed_hours(given).text


_SECOND = timedelta(seconds=1)

#: A waiting task counts as cancelled or moved if it has not come this long after its place.
_FORGOTTEN_AFTER = timedelta(days=1)


class Permits(msgspec.Struct, frozen=True):
    """The attempts that a run has under way. They count until `until`, which the run renews."""

    count: int
    until: Instant


class Semaphore(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The semaphore of one action.

    next        the earliest time of the next start, by the rate alone
    line        the next free place in the line of tasks that come for the first time
    late        the next free place in the line of tasks that had a place before
    waiting     the number of tasks that have places and are not started; some may have been cancelled
    per_second  the rate by which these tasks got their places; None without a rate
    permits     by run, the attempts that it has under way; kept only where `at_most` limits them
    rev         the number of changes; stored beside the rest
    """

    next: Instant = FIRST
    line: Instant = FIRST
    late: Instant = FIRST
    waiting: int = 0
    per_second: float | None = None
    permits: Mapping[str, Permits] = {}
    rev: int = 0

    def take(
        self,
        limit: Limit,
        waited: Sequence[bool],
        *,
        now: datetime,
        run: str,
        until: datetime,
        takes: timedelta,
    ) -> tuple[Self, tuple[datetime | None, ...]]:
        """Start as many of these tasks as the limit allows, in order, and give the others places in a line.

        Returns the semaphore after that, and for each task None if it may be started, else its place.

        waited  for each task, whether it had a place before
        until   the end of the run's lease, and of its permits
        takes   the time that an attempt takes, about; the waits for permits are estimated by it
        """
        interval = _SECOND / limit.per_second if limit.per_second else NO_TIME
        for_permit = takes / limit.at_most if limit.at_most else NO_TIME
        step = max(interval, for_permit)
        semaphore = self._at_rate(limit.per_second, now, interval)
        start = max(semaphore.next, now - _burst(limit, interval))
        waiting = semaphore.waiting if max(semaphore.line, semaphore.late) > now - _FORGOTTEN_AFTER else 0
        # No line is longer than the waiting tasks: started tasks have left their places.
        line, late = max(semaphore.line, now), min(max(semaphore.late, now), now + waiting * step)
        is_line_empty = semaphore.line <= now
        alive = {owner: one for owner, one in semaphore.permits.items() if one.until > now}
        mine = alive[run].count if run in alive else 0
        free = len(waited) if limit.at_most is None else limit.at_most - sum(p.count for p in alive.values())
        places: list[datetime | None] = []
        for has_waited in waited:
            if free > 0 and start <= now and (has_waited or is_line_empty):
                places.append(None)
                start += interval
                free -= 1
                mine += 1
                waiting -= has_waited and waiting > 0
                continue
            place = min(max(late if has_waited else line, start, now + for_permit), LATEST)
            places.append(place)
            if has_waited:
                late = min(place + step, LATEST)
            else:
                line, is_line_empty, waiting = min(place + step, LATEST), False, waiting + 1
        permits = _with(alive, run, mine if limit.at_most is not None else 0, until)
        started = start if limit.per_second else FIRST
        taken = replace(semaphore, next=started, line=line, late=late, waiting=waiting, permits=permits)
        return taken, tuple(places)

    def free(self, limit: Limit, *, now: datetime, run: str, under_way: int) -> int:
        """Return the number of tasks that this run may start now, with its attempts `under_way`."""
        others = sum(one.count for owner, one in self.permits.items() if owner != run and one.until > now)
        free = MOST_AT_A_TIME if limit.at_most is None else limit.at_most - others - under_way
        if limit.per_second:
            behind = now - self.opens_at(limit, now)
            free = min(free, 0 if behind < NO_TIME else 1 + behind // (_SECOND / limit.per_second))
        return max(free, 0)

    def opens_at(self, limit: Limit, now: datetime) -> datetime:
        """The time of the next start by the rate alone; a past one if several may start at once.

        `now` if the semaphore has another rate: the next task that comes sets this rate.
        """
        if not limit.per_second or limit.per_second != self.per_second:
            return now
        return max(self.next, now - _burst(limit, _SECOND / limit.per_second))

    def renewed(self, run: str, count: int, *, until: datetime) -> Self:
        return replace(self, permits=_with(self.permits, run, count, until))

    def _at_rate(self, per_second: float | None, now: datetime, interval: timedelta) -> Self:
        """If the rate is another one: with this rate, empty lines, and no burst."""
        if per_second == self.per_second:
            return self
        soonest = min(max(self.next, now), now + interval) if self.per_second else self.next
        return replace(self, per_second=per_second, next=soonest, line=FIRST, late=FIRST)


def _burst(limit: Limit, interval: timedelta) -> timedelta:
    """A second's worth of starts may come at once, at least one."""
    return (max(int(limit.per_second or 1), 1) - 1) * interval


def _with(permits: Mapping[str, Permits], run: str, count: int, until: datetime) -> dict[str, Permits]:
    others = {owner: one for owner, one in permits.items() if owner != run}
    return {**others, run: Permits(count, until)} if count > 0 else others
