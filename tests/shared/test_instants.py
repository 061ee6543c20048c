"""Instants and keys of the queue: UTC, whole milliseconds, never early, and in text the order of time."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duebell_shared.instants import NEVER, parse, render, to_utc
from duebell_shared.queue.items import item_of, parse_queued, render_queued, task_of
from duebell_shared.tasks.new_task import new_task
from tests.support import NOON

MILLISECOND = timedelta(milliseconds=1)
BERLIN = ZoneInfo("Europe/Berlin")

_INSTANTS = st.datetimes(
    min_value=datetime(2, 1, 1),  # noqa: DTZ001 - the strategy adds the zone
    max_value=datetime(9998, 1, 1),  # noqa: DTZ001
    timezones=st.sampled_from([UTC, BERLIN, timezone(timedelta(hours=-11, minutes=-30))]),
)


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        (datetime(2026, 12, 31, tzinfo=UTC), "2026-12-31T00:00:00.000Z"),
        (datetime(2026, 12, 31, 1, tzinfo=BERLIN), "2026-12-31T00:00:00.000Z"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000Z"),
        (datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC), "2026-01-01T00:00:00.001Z"),
        (datetime(2026, 12, 31, 23, 59, 59, 999001, tzinfo=UTC), "2027-01-01T00:00:00.000Z"),
        (datetime(2026, 10, 25, 2, 30, fold=0, tzinfo=BERLIN), "2026-10-25T00:30:00.000Z"),
        (datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=BERLIN), "2026-10-25T01:30:00.000Z"),
        (NEVER, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_as_text(instant: datetime, text: str) -> None:
    assert render(instant) == text
    assert parse(text) == to_utc(instant)


@given(_INSTANTS)
def test_milliseconds_are_rounded_up_so_that_nothing_runs_early(instant: datetime) -> None:
    rounded = to_utc(instant)
    assert timedelta(0) <= rounded - instant.astimezone(UTC) < MILLISECOND
    assert rounded.microsecond % 1000 == 0
    assert to_utc(rounded) == rounded


@given(_INSTANTS, _INSTANTS)
def test_the_order_of_texts_is_the_order_of_times(one: datetime, other: datetime) -> None:
    assert (render(one) < render(other)) == (to_utc(one) < to_utc(other))
    assert len(render(one)) == len("2026-12-31T00:00:00.000Z")


def test_text_without_an_offset_is_in_the_zone_that_is_given() -> None:
    assert parse("2026-12-31T00:00") == datetime(2026, 12, 31, tzinfo=UTC)
    assert parse("2026-12-31T00:00", BERLIN) == datetime(2026, 12, 30, 23, tzinfo=UTC)
    assert parse("2026-12-31T00:00+05:00", BERLIN) == datetime(2026, 12, 30, 19, tzinfo=UTC)
    assert parse("2026-12-31") == datetime(2026, 12, 31, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-02-30T00:00Z",
        "9999-12-31T23:59:59.999001Z",  # rounded up, it is in the year 10000
        "0001-01-01T00:00+02:00",  # in UTC, it is before the year 1
    ],
)
def test_what_is_no_instant_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse(text)


# The sort key of the queue: its text has the order of time, and within a millisecond that of priority.


_NEAR = st.integers(min_value=-3, max_value=3).map(lambda n: NOON + n * timedelta(milliseconds=1))
_PLACES = st.tuples(_NEAR, st.integers(min_value=0, max_value=9))


def test_the_key_of_a_priority_reads_as_a_rank_within_its_millisecond() -> None:
    assert render_queued(datetime(2026, 12, 31, tzinfo=UTC), 9) == "2026-12-31T00:00:00.000#1"
    assert render_queued(datetime(2026, 12, 31, tzinfo=UTC), 1) == "2026-12-31T00:00:00.000#9"


@given(place=_PLACES)
def test_a_key_is_read_as_it_was_written(place: tuple[datetime, int]) -> None:
    assert parse_queued(render_queued(*place)) == place


@given(places=st.lists(_PLACES, max_size=20))
def test_keys_sort_by_time_then_with_the_highest_priority_first(places: list[tuple[datetime, int]]) -> None:
    by_text = sorted(places, key=lambda place: render_queued(*place))
    assert by_text == sorted(places, key=lambda place: (to_utc(place[0]), -place[1]))


@pytest.mark.parametrize("tail", ["#0", "#10", "#01", "#", "#x", "#1Z", "", "1Z", "z", "#-1", "# 1"])
def test_other_text_is_no_place(tail: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - of several kinds
        parse_queued(render(NOON)[:-1] + tail)


@pytest.mark.parametrize("priority", [0, 9])
def test_the_item_has_the_priority_only_if_there_is_one(priority: int) -> None:
    task = new_task(id="a", action="act", due=NOON, payload={}, now=NOON, priority=priority)
    item = item_of(task)
    assert item.get("priority") == ({"N": "9"} if priority else None)
    assert item["queued"] == {"S": render_queued(NOON, priority)}
    assert task_of(item) == task
