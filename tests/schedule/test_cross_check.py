"""The same expressions given to three libraries: where they do not agree, a table says why."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from aws_croniter import AwsCroniter
from croniter import croniter
from hypothesis import given, settings
from hypothesis import strategies as st

from duebell_shared.errors import InvalidSchedule
from duebell_shared.schedules.schedule import make_schedule
from duebell_shared.schedules.zones import zone_of
from tests.schedule.expressions import AWS, CLASSIC, ZONES

pytestmark = pytest.mark.slow

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MANY = 8

#: What aws-croniter 2.1 reads otherwise than AWS documents it, or cannot read.
AWS_CRONITER = {
    r"^\S+ \S+ LW ": "the last weekday of a month is more than it can read",
    r"^\S+ \S+ \S+ \S+ L ": "L alone, as a day of the week, is Saturday to AWS; it finds nothing",
    r"^\S+ \S+ \S*(,L|W,)": "it has no L or W within a list",
    r"^\S+ \S+ \S+ \S+ \S*(#\S*,|,\S*#|L,|,\S*L)": "it has no L or # within a list",
    r"/\d+$": "it has no steps of years",
    r"^\S+ \S+ \S+ \S*/1[3-9]|^\S+ \S+ \S+ \S*/20": "it has no step beyond a month's twelve",
    r"^\S+ \S+ \S+ \S+ \S*/": "it has no steps of days of the week, which AWS does not document either",
}

#: What croniter 7.0 reads otherwise than crontab(5) has it.
CRONITER = {
    r"\b(\d+)-\1\b": "a range of one number is every number to it",
    r"^\S+ \S+ (\*\S+ \S+ [^*]|[^*]\S* \S+ \*\S|\*\S+ \S+ \*\S)": "a day field that begins with * "
    "restricts nothing, so both must match; to it either is enough",
    r"7/\d+\S*$": "a step from 7 (Sunday) ends there; it goes on from 0",
    r"(?<![-\d/])(1/[1236]|2/[15]|3/[124]|4/[13]|5/[12]|6/1)(,\S*)?$": "a step that comes to 7 is on "
    "Sunday too; its week ends with 6",
}


#: What cronsim 2.8 reads otherwise than we do, as Debian's cron does.
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
def test_cronsim_agrees_also_when_clocks_are_changed(
    expression: str, zone: str, day: str, minutes: int
) -> None:
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
