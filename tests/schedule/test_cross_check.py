"""Random schedules fire when a minute-by-minute search and three libraries say. Tables have exceptions."""

import calendar
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import pytest
from aws_croniter import AwsCroniter
from croniter import croniter
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from duebell_shared.errors import InvalidSchedule
from duebell_shared.schedules.schedule import Schedule, make_schedule
from duebell_shared.schedules.zones import zone_of
from tests.schedule.expressions import AWS, CLASSIC, ZONES

pytestmark = pytest.mark.slow

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MANY = 8

#: Expressions that aws-croniter 2.1 cannot read, or reads otherwise than AWS documents them.
AWS_CRONITER = {
    r"^\S+ \S+ LW ": "the last weekday of a month is more than it can read",
    r"^\S+ \S+ \S+ \S+ L ": "L alone, as a day of the week, is Saturday to AWS; it finds nothing",
    r"^\S+ \S+ \S*(,L|W,)": "it has no L or W within a list",
    r"^\S+ \S+ \S+ \S+ \S*(#\S*,|,\S*#|L,|,\S*L)": "it has no L or # within a list",
    r"/\d+$": "it has no steps of years",
    r"^\S+ \S+ \S+ \S*/1[3-9]|^\S+ \S+ \S+ \S*/20": "it has no step beyond a month's twelve",
    r"^\S+ \S+ \S+ \S+ \S*/": "it has no steps of days of the week, which AWS does not document either",
}

#: Expressions that croniter 7.0 reads otherwise than crontab(5) documents them.
CRONITER = {
    r"\b(\d+)-\1\b": "a range of one number is every number to it",
    r"^\S+ \S+ (\*\S+ \S+ [^*]|[^*]\S* \S+ \*\S|\*\S+ \S+ \*\S)": "a day field that begins with * "
    "restricts nothing, so both must match; to it either is enough",
    r"7/\d+\S*$": "a step from 7 (Sunday) ends there; it goes on from 0",
    r"(?<![-\d/])(1/[1236]|2/[15]|3/[124]|4/[13]|5/[12]|6/1)(,\S*)?$": "a step that comes to 7 is on "
    "Sunday too; its week ends with 6",
}


#: Expressions that cronsim 2.8 reads as Debian's cron does, and we do not.
CRONSIM = {
    r"\b(\d+)-\1/": "a range of one with a step has no end to it",
    r"^\*\S* [^*/]+ ": "a wildcard for the minute alone follows the clock as time goes by, not the day",
}


def is_explained(fields: str, table: dict[str, str]) -> bool:
    return any(re.search(pattern, fields) for pattern in table)


def ours(expression: str) -> list[datetime]:
    try:
        return make_schedule(expression, now=NOW).preview(MANY, NOW)
    except InvalidSchedule as error:
        if "never comes" in error.reason:
            return []
        raise


@settings(max_examples=120, deadline=None, derandomize=True)
@given(AWS)
def test_aws_croniter_agrees(expression: str) -> None:
    fields = expression.removeprefix("cron(").removesuffix(")")
    if is_explained(fields, AWS_CRONITER):
        return
    library, instant = AwsCroniter(fields), NOW
    found: list[datetime] = []
    while len(found) < MANY and (instant := library.occurrence(instant).next()) is not None:
        found.append(instant)
    assert found == ours(expression)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(CLASSIC)
def test_croniter_agrees(expression: str) -> None:
    if is_explained(expression, CRONITER):
        return
    expected = ours(expression)
    library = croniter(expression, NOW)
    assert [library.get_next(datetime) for _ in expected] == expected


@settings(max_examples=120, deadline=None, derandomize=True)
@given(
    expression=CLASSIC,
    zone=st.sampled_from(ZONES),
    day=st.sampled_from(["2026-03-07", "2026-03-28", "2026-04-04", "2026-10-03", "2026-10-24", "2026-10-31"]),
    minutes=st.integers(0, 3000),
)
def test_cronsim_agrees_when_clocks_are_changed(expression: str, zone: str, day: str, minutes: int) -> None:
    cronsim = pytest.importorskip("cronsim")
    if is_explained(expression, CRONSIM):
        return
    after = datetime.fromisoformat(day).replace(tzinfo=UTC) + timedelta(minutes=minutes)
    try:
        expected = make_schedule(expression, timezone=zone, now=after).preview(MANY, after)
    except InvalidSchedule as error:
        if "never comes" in error.reason:
            return
        raise
    library = cronsim.CronSim(expression, after.astimezone(zone_of(zone)))
    assert [next(library).astimezone(UTC) for _ in expected] == expected


# A slow, obviously right reading of cron: look at each minute, and ask of each field whether it matches. It
# shares nothing with the code under test but the meaning of the fields, which it reads on its own.


MINUTE = timedelta(minutes=1)
_NAMES = {
    "month": "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split(),  # noqa: SIM905
    "day-of-week": "SUN MON TUE WED THU FRI SAT".split(),  # noqa: SIM905
}


def fires(expression: str, zone: str, after: datetime, until: datetime) -> list[datetime]:
    """Every instant strictly after the one and up to the other at which the expression fires."""
    fields = expression.removeprefix("cron(").removesuffix(")").upper().split()
    hour = fields[1]
    by_the_minute = "*" in hour or "/" in hour
    found = _shown(fields, zone, after, until) if by_the_minute else _once_a_day(fields, zone, after, until)
    return sorted({instant for instant in found if after < instant <= until})


def _shown(fields: list[str], zone: str, after: datetime, until: datetime) -> Iterator[datetime]:
    """Each minute that passes, if what the clock shows then matches."""
    instant = after.replace(second=0, microsecond=0)
    while instant <= until:
        if _matches(fields, instant.astimezone(zone_of(zone)).replace(tzinfo=None)):
            yield instant
        instant += MINUTE


def _once_a_day(fields: list[str], zone: str, after: datetime, until: datetime) -> Iterator[datetime]:
    """Each minute that a clock could show, if it matches, at the first instant that is not before it."""
    shown = after.astimezone(zone_of(zone)).replace(tzinfo=None, second=0, microsecond=0) - timedelta(days=2)
    last = until.astimezone(zone_of(zone)).replace(tzinfo=None) + timedelta(days=2)
    while shown <= last:
        if _matches(fields, shown):
            yield _first_instant_showing_at_least(shown, zone)
        shown += MINUTE


def _first_instant_showing_at_least(shown: datetime, zone: str) -> datetime:
    """Look hour by hour, and at last minute by minute, for a clock that has got there."""
    instant = shown.replace(tzinfo=UTC) - timedelta(hours=15)
    for step in (timedelta(hours=1), MINUTE):
        while (instant + step).astimezone(zone_of(zone)).replace(tzinfo=None) < shown:
            instant += step
    return instant + MINUTE


def _matches(fields: list[str], shown: datetime) -> bool:
    minute, hour, month_day, month, week_day = fields[:5]
    is_aws = len(fields) == 6
    if not (_in(minute, shown.minute, 0, 59) and _in(hour, shown.hour, 0, 23)):
        return False
    if not _in(month, shown.month, 1, 12, "month"):
        return False
    if is_aws:
        if not _in(fields[5], shown.year, 1970, 2199):
            return False
        matches_day, days = (_aws_day, month_day) if week_day == "?" else (_aws_weekday, week_day)
        return any(matches_day(part, shown.date()) for part in days.split(","))
    sunday_is_0 = shown.isoweekday() % 7
    by_month = _in(month_day, shown.day, 1, 31)
    by_week = _in(week_day, sunday_is_0, 0, 7, "day-of-week") or (
        sunday_is_0 == 0 and _in(week_day, 7, 0, 7, "day-of-week")
    )
    if month_day.startswith("*") or week_day.startswith("*"):
        return by_month and by_week
    return by_month or by_week


def _aws_day(part: str, day: date) -> bool:
    last = calendar.monthrange(day.year, day.month)[1]
    if part == "L":
        return day.day == last
    if part == "LW":
        return day == max(one for one in _workdays(day))
    if part.startswith("L-"):
        return day.day == last - int(part[2:])
    if part.endswith("W"):
        number = int(part[:-1])
        if number > last:
            return False
        wanted = day.replace(day=number)
        return day == min(_workdays(day), key=lambda one: (abs((one - wanted).days), one))
    return _in(part, day.day, 1, 31)


def _workdays(month: date) -> list[date]:
    days = (
        month.replace(day=number) for number in range(1, calendar.monthrange(month.year, month.month)[1] + 1)
    )
    return [day for day in days if day.isoweekday() <= 5]


def _aws_weekday(part: str, day: date) -> bool:
    sunday_is_1 = day.isoweekday() % 7 + 1
    if part == "L":
        return sunday_is_1 == 7
    if "#" in part:
        wanted, count = part.split("#")
        return _number(wanted, "day-of-week", 1) == sunday_is_1 and (day.day - 1) // 7 + 1 == int(count)
    if part.endswith("L"):
        in_a_week = day + timedelta(days=7)
        return _number(part[:-1], "day-of-week", 1) == sunday_is_1 and in_a_week.month != day.month
    return _in(part, sunday_is_1, 1, 7, "day-of-week", first_name=1)


def _in(
    text: str, value: int, least: int, most: int, names: str = "", *, first_name: int | None = None
) -> bool:
    """True if a field of lists, ranges and steps matches the value."""
    first = (1 if names == "month" else 0) if first_name is None else first_name
    for part in text.split(","):
        span, _, step = part.partition("/")
        if span in {"*", "?"}:
            begin, end = least, most
        elif "-" in span:
            begin, end = (_number(one, names, first) for one in span.split("-"))
        else:
            begin = _number(span, names, first)
            end = most if step else begin
        if begin <= value <= end and (value - begin) % int(step or 1) == 0:
            return True
    return False


def _number(text: str, names: str, first: int) -> int:
    return int(text) if text.isdecimal() else _NAMES[names].index(text) + first


#: Days around which clocks are changed somewhere, and some others.
_DAYS = (
    datetime(2026, 3, 7, tzinfo=UTC),
    datetime(2026, 3, 28, tzinfo=UTC),
    datetime(2026, 4, 4, tzinfo=UTC),
    datetime(2026, 10, 3, tzinfo=UTC),
    datetime(2026, 10, 24, tzinfo=UTC),
    datetime(2026, 10, 31, tzinfo=UTC),
    datetime(2026, 12, 30, tzinfo=UTC),
    datetime(2027, 2, 27, tzinfo=UTC),
    datetime(2028, 2, 28, tzinfo=UTC),
)
_AROUND = st.tuples(st.sampled_from(_DAYS), st.integers(0, 3 * 86_400_000)).map(
    lambda given: given[0] + timedelta(milliseconds=given[1])
)
_EXPRESSIONS = st.one_of(AWS, CLASSIC)


def schedule_of(expression: str, zone: str) -> Schedule:
    try:
        return make_schedule(expression, timezone=zone, now=NOW)
    except InvalidSchedule:
        assume(False)
        raise


@settings(max_examples=50, deadline=None, derandomize=True)
@given(expression=_EXPRESSIONS, zone=st.sampled_from(ZONES), after=_AROUND)
def test_nothing_between_is_skipped(expression: str, zone: str, after: datetime) -> None:
    schedule = schedule_of(expression, zone)
    until = after + timedelta(hours=40)
    found = []
    instant = schedule.next_after(after)
    while instant is not None and instant <= until:
        found.append(instant)
        instant = schedule.next_after(instant)
    assert found == fires(expression, zone, after, until)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(
    expression=st.one_of(_EXPRESSIONS, st.sampled_from(["rate(1 minute)", "rate(7 hours)", "rate(2 days)"])),
    zone=st.sampled_from(ZONES),
    after=_AROUND,
    hours=st.integers(0, 200),
    n=st.integers(1, 5),
)
def test_the_latest_are_the_last(expression: str, zone: str, after: datetime, hours: int, n: int) -> None:
    schedule = schedule_of(expression, zone)
    until = after + timedelta(hours=hours)
    every: list[datetime] = []
    instant = schedule.next_after(after)
    while instant is not None and instant <= until and len(every) < 20_000:
        every.append(instant)
        instant = schedule.next_after(instant)
    assert schedule.latest(after, until, n) == every[-n:]
    assert schedule.count(after, until) == len(every)
    assert schedule.preview(3, after)[: len(every)] == every[:3]
