"""What is said of times that may not be meant, and how lengths of time and times are confirmed."""

import pytest

from tests.cli.program import Duebell, lines


def test_a_due_date_long_past_is_warned_of(duebell: Duebell) -> None:
    outcome = duebell("add", "x", "--due", "2026-11-20T12:00Z", "--id", "a")
    assert outcome.status == 0
    assert outcome.err == "warning: a: its due date, 2026-11-20 12:00:00 UTC, was 1 d ago: it runs at once\n"
    # But not one that has only just passed, nor one to come
    assert duebell("move", "a", "--due", "2026-11-21T11:58Z").err == ""
    assert duebell("move", "a", "--in", "1h").err == ""


@pytest.mark.parametrize(
    ("shown", "due", "said"),
    [
        (
            "2026-03-29T02:30",
            "2026-03-29T01:00:00.000Z",
            "no clock in Europe/Berlin shows 2026-03-29T02:30, they go forward over it: 03:00 CEST is taken",
        ),
        (
            "2026-10-25T02:30",
            "2026-10-25T00:30:00.000Z",
            "clocks in Europe/Berlin show 2026-10-25T02:30 twice: the first, 02:30 CEST, is taken; "
            "2026-10-25T02:30+01:00 is the other",
        ),
    ],
)
def test_a_time_that_clocks_skip_or_repeat_is_warned_of(
    duebell: Duebell, shown: str, due: str, said: str
) -> None:
    arguments = ("add", "x", "--due", shown, "--timezone", "Europe/Berlin")
    assert f"warning: --due: {said}\n" in duebell(*arguments).err
    # And to a program as JSON
    outcome = duebell(*arguments, "--json")
    assert lines(outcome.out)[0]["due"] == due
    assert lines(outcome.err)[0] == {"warning": f"--due: {said}"}


def test_a_time_is_confirmed_in_the_zone_it_was_given_in(duebell: Duebell) -> None:
    arguments = ("--due", "2026-12-31 09:00", "--timezone", "Asia/Tokyo")
    outcome = duebell("add", "x", "--id", "a", *arguments)
    assert outcome.out.endswith("(in 39 d 12 h), 2026-12-31 09:00:00 in Asia/Tokyo\n")
    assert duebell("move", "a", *arguments).out.endswith("2026-12-31 09:00:00 in Asia/Tokyo\n")
    assert duebell("cancel", "a").out.endswith("(in 39 d 12 h)\n")
    # And a schedule's, but not when clocks there show the same as here
    schedule = ("add", "x", "--schedule", "0 9 * * *", "--timezone")
    assert "2026-11-22 09:00:00 in Asia/Tokyo" in duebell(*schedule, "Asia/Tokyo").out
    assert duebell(*schedule, "Europe/London").out.endswith("(in 21 h)\n")
