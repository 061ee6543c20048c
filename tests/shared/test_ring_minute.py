"""The minute that a rule is set to: never before the target, never too near, never later than it must be."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duebell_shared.bell.expression import LEAD, early_minute, ring_minute
from duebell_shared.instants import LATEST

MINUTE = timedelta(minutes=1)


def at(clock: str) -> datetime:
    """This time of one day, such as `10:05:30`."""
    return datetime.fromisoformat(f"2026-11-21T{clock}+00:00")


@pytest.mark.parametrize(
    ("target", "now", "early"),
    [
        ("10:01", "10:00:00.001", "10:01"),  # it rings at 10:02 to be safe
        ("09:00", "10:00:59", "10:01"),
        ("10:01:00.001", "10:00:30", None),  # at 10:01 it might not be due yet
        ("10:01", "10:00", None),  # it rings at 10:01 anyway
        ("09:00", "10:00", None),  # 10:00 may be over
        ("10:00", "10:58:30", None),  # it rings at 11:00, and 10:59 is of another hour
        ("12:00", "10:00", None),
    ],
)
def test_what_rings_late_to_be_safe_rings_before_as_well(target: str, now: str, early: str | None) -> None:
    minute = ring_minute(at(target), at(now))
    assert early_minute(minute, at(target), at(now)) == (early and at(early))


_INSTANTS = st.datetimes(
    min_value=datetime(1990, 1, 1),  # noqa: DTZ001 - the strategy adds the zone
    max_value=LATEST.replace(tzinfo=None) - timedelta(hours=1),
    timezones=st.just(UTC),
)


@given(target=_INSTANTS, now=_INSTANTS)
def test_whatever_the_target_and_the_time(target: datetime, now: datetime) -> None:
    minute = ring_minute(target, now)
    assert minute is not None
    assert minute >= target
    assert minute >= now + LEAD
    assert (minute.second, minute.microsecond) == (0, 0)
    assert minute - max(target, now + LEAD) < MINUTE
    early = early_minute(minute, target, now)
    assert early is None or (target <= early > now and early == minute - MINUTE)
