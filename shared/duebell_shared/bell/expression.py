"""The cron expression that the bell rings by: a minute, and then again and again for ever. Pure.

EventBridge rings once for each minute that an expression matches. A ring can be lost: the change of the rule
took too long to take effect, or nothing could run at that time. So the expression goes on after its minute,
at no cost. It rings 4, 12 and 27 minutes later within the hour, and then each hour, day, month and year.
These are the *echoes*. A run that comes sets the rule anew, so echoes ring only where something went wrong.

Every expression is made in the same way. Take the first field in which now and the minute differ: year,
month, day, hour or minute. This field leaves out the values from now's up to, but not including, the
minute's. Larger fields match every value. Smaller fields begin with the minute's value.

A rule that is set in January, or set early for the last day of a month or for a later year, would have no
near echo. So this rule also rings a day or a month too early, and the run of that ring sets it anew.

A field is one list or one range: both are documented, and their mixtures are not.
https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-scheduled-rule-pattern.html
"""

from calendar import monthrange
from collections.abc import Iterator
from datetime import datetime, timedelta

from duebell_shared.errors import InvalidSchedule
from duebell_shared.instants import LATEST, ceil_to_minute
from duebell_shared.schedules.cron import LAST_YEAR, parse_aws
from duebell_shared.schedules.wall_clock import next_match
from duebell_shared.schedules.zones import zone_of

#: No rule is set to ring sooner than this: a changed rule takes effect after "a short period of time", and
#: EventBridge gives no figure. https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutRule.html
LEAD = timedelta(seconds=60)

#: The echoes of a ring: minutes after it in which the rule rings again, as far as they are in the same hour.
#: The first is late enough for a changed rule to have long taken effect.
ECHOES = (4, 12, 27)

_MINUTES, _HOURS, _DAYS, _MONTHS = range(60), range(24), range(1, 32), range(1, 13)


def ring_minute(target: datetime, now: datetime) -> datetime | None:
    """The minute to set the rule to: the first one that is not before `target` and at least LEAD away.

    None means the sentinel: there is no target, or it is later than any rule can ring.
    """
    return None if target > LATEST else minute_for(target, now)


def early_minute(minute: datetime | None, target: datetime, now: datetime) -> datetime | None:
    """The minute before `minute`, if only LEAD keeps the rule from ringing then: it rings in both minutes.

    Nothing relies on this ring. None at a full hour: no expression matches just two minutes in different
    hours.
    """
    if minute is None or minute.minute == 0:
        return None
    early = minute - timedelta(minutes=1)
    return early if early >= target and early > now else None


def echo_after(minute: datetime, target: datetime) -> datetime | None:
    """The first echo of a rule set to `minute` that is in the same hour and not before `target`."""
    echoes = (minute + timedelta(minutes=echo) for echo in ECHOES if minute.minute + echo in _MINUTES)
    return next((echo for echo in echoes if echo >= target), None)


def minute_for(target: datetime, now: datetime) -> datetime:
    return ceil_to_minute(max(target, now + LEAD))


#: A past year is valid in a cron expression and never comes: the rule is parked.
SENTINEL = "cron(0 0 1 1 ? 1970)"

#: The sentinel of a schedule of EventBridge Scheduler. Its documentation does not say that it takes a past
#: year. This is the last year that it takes; a ring then does no harm.
FAR_SENTINEL = "cron(0 0 1 1 ? 2199)"


def expression_at(minute: datetime, *, early: datetime | None = None, now: datetime) -> str:
    """The cron expression that rings first in this UTC minute, then in its echoes.

    early  a minute of the same hour, before it, to ring in as well
    now    when the rule is set, before `minute`
    """
    minutes, hours, days, months, years = _fields(minute, now)
    if early:
        minutes = minutes | {early.minute}
    return (
        f"cron({_field(minutes, _MINUTES)} {_field(hours, _HOURS)} {_field(days, _DAYS)} "
        f"{_field(months, _MONTHS)} ? {_field(years)})"
    )


def next_ring(expression: str, now: datetime) -> datetime | None:
    """The first minute after `now` that the expression rings in; None for a sentinel or no cron."""
    if expression in {SENTINEL, FAR_SENTINEL}:
        return None
    try:
        cron = parse_aws(expression.removeprefix("cron(").removesuffix(")"))
    except InvalidSchedule:
        return None
    return next_match(cron, zone_of("UTC"), now)


def is_set_for(expression: str, minute: datetime | None) -> bool:
    """Tell whether this expression is set for this minute, at any time, with or without an early ring."""
    if minute is None:
        return expression in {SENTINEL, FAR_SENTINEL}
    before = minute - timedelta(minutes=1)
    early = [None, before] if before.hour == minute.hour else [None]
    return any(
        expression == expression_at(minute, early=ring, now=now)
        for now in _times_before(minute)
        for ring in early
    )


def _fields(minute: datetime, now: datetime) -> tuple[set[int], set[int], set[int], set[int], set[int]]:
    """The minutes, hours, days, months and years in which a rule rings that is set at `now`."""
    first = minute.minute
    minutes = {first, *(first + echo for echo in ECHOES if first + echo in _MINUTES)}
    hours, days, months, years = set(_HOURS), set(_DAYS), set(_MONTHS), set(range(minute.year, LAST_YEAR + 1))
    if now.replace(minute=0, second=0, microsecond=0) == minute.replace(minute=0):
        after = {(first + echo) % len(_MINUTES) for echo in ECHOES}
        return minutes | {each for each in after if each < now.minute}, hours, days, months, years
    if now.date() == minute.date():
        return minutes, hours - set(range(now.hour, minute.hour)), days, months, years
    hours = set(range(minute.hour, len(_HOURS)))
    days = set(range(minute.day, len(_DAYS) + 1))
    is_last_day = minute.day == monthrange(minute.year, minute.month)[1]
    if (now.year, now.month) == (minute.year, minute.month):
        before = set(range(1, now.day))
        if is_last_day and not before and now.day < minute.day - 1:
            before = {minute.day - 1}
        return minutes, hours, days | before, months, years
    if is_last_day:
        days |= {minute.day - 1}
    if now.year == minute.year:
        months -= set(range(now.month, minute.month))
        if now.month == 1 < minute.month - 1:  # no month before now's is left
            months |= {minute.month - 1}
    else:
        months = set(range(max(1, minute.month - 1), 13))
    return minutes, hours, days, months, years


def _times_before(minute: datetime) -> Iterator[datetime]:
    """Times before the minute, one for each expression that may be set for it."""
    wrapped = {(minute.minute + echo) % len(_MINUTES) + 1 for echo in ECHOES}
    yield from (minute.replace(minute=each) for each in {0, *wrapped} if each <= minute.minute)
    yield from (minute.replace(hour=hour) for hour in range(minute.hour))
    yield from (minute.replace(day=day) for day in range(1, minute.day))
    yield from (minute.replace(day=1, month=month) for month in range(1, minute.month))
    yield minute.replace(day=1, month=1, year=minute.year - 1)


def _field(values: set[int], every: range | None = None) -> str:
    numbers = sorted(values)
    if every and numbers == list(every):
        return "*"
    is_range = len(numbers) > 1 and numbers[-1] - numbers[0] == len(numbers) - 1
    return f"{numbers[0]}-{numbers[-1]}" if is_range else ",".join(map(str, numbers))
