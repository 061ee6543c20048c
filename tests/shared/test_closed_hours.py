"""Closed hours: what they mean on the clock, and what cannot be some."""

from datetime import UTC, datetime

import pytest

from duebell import InvalidTask
from duebell_shared.limits.closed_hours import closed_hours


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("hours", "now", "opens"),
    [
        ("22:00-06:00", "2026-11-21T22:00", "2026-11-22T06:00"),
        ("22:00-06:00", "2026-11-22T05:59:59", "2026-11-22T06:00"),
        ("22:00-06:00", "2026-11-22T06:00", None),
        # In another zone: winter and summer
        ("22:00-06:00 Europe/Berlin", "2026-11-21T21:00", "2026-11-22T05:00"),
        # The nights in which clocks change
        ("22:00-06:00 Europe/Berlin", "2026-03-28T22:00", "2026-03-29T04:00"),
        ("22:00-06:00 Europe/Berlin", "2026-10-24T22:00", "2026-10-25T05:00"),
        # An end that the clock shows twice, and one that it skips; a beginning that it skips
        ("22:00-02:30 Europe/Berlin", "2026-10-25T00:45", "2026-10-25T01:30"),
        ("22:00-02:30 Europe/Berlin", "2026-03-29T00:45", "2026-03-29T01:00"),
        ("02:30-04:00 Europe/Berlin", "2026-03-29T01:15", "2026-03-29T02:00"),
        # Days, whole and in part
        ("sat,sun", "2026-11-21T00:00", "2026-11-23T00:00"),
        ("fri-mon Europe/Berlin", "2026-11-20T12:00", "2026-11-23T23:00"),
        ("mon-fri 12:00-13:00", "2026-11-23T12:30", "2026-11-23T13:00"),
        ("fri 22:00-06:00", "2026-11-21T05:00", "2026-11-21T06:00"),
        # Windows that follow on each other, of several zones
        ("sat 00:00-24:00; sun Europe/Berlin; mon 00:00-04:00", "2026-11-21T10:00", "2026-11-22T23:00"),
        ("22:00-24:00, 00:00-06:00", "2026-11-21T22:30", "2026-11-22T06:00"),
        ("never", "2026-11-21T22:30", None),
    ],
)
def test_an_action_is_closed_until_its_windows_have_ended(hours: str, now: str, opens: str | None) -> None:
    assert closed_hours(hours).closed_until(at(now)) == (opens and at(opens))


def test_one_text_stands_for_the_same_windows() -> None:
    assert (
        closed_hours("SAT ,  sun  Europe/Berlin;22:00-06:00").text
        == "sat, sun Europe/Berlin; 22:00-06:00 UTC"
    )
    assert closed_hours(" NEVER ").text == "never"
    text = closed_hours("mon-fri 12:00-13:00").text
    assert closed_hours(text).text == text


@pytest.mark.parametrize(
    ("hours", "reason"),
    [
        ("", "closed: is empty: give windows such as 22:00-06:00 Europe/Berlin, or never"),
        ("at night", "'at night' is no window such as 22:00-06:00, sat"),
        ("22:00-6", "'22:00-6' is no window"),
        ("mon,", "'' is no window"),
        ("24:01-06:00", "24:01 is no time of day, from 00:00 to 24:00"),
        ("22:60-06:00", "22:60 is no time of day"),
        ("24:00-06:00", "'24:00-06:00' has no length"),
        ("mon-abc 06:00-07:00", "'mon-abc 06:00-07:00' is no window"),
        ("06:00-06:00", "'06:00-06:00' has no length"),
        ("22:00-06:00 Europe/Berln", "did you mean Europe/Berlin"),
        ("mon-sun", "'mon-sun' never opens: leave an hour in which tasks may start, or pause the action"),
        ("08:00-20:00; 20:00-08:00", "never opens"),
    ],
)
def test_what_cannot_be_closed_hours_is_refused(hours: str, reason: str) -> None:
    with pytest.raises(InvalidTask, match=r"^closed: ") as refused:
        closed_hours(hours)
    assert reason in str(refused.value)
