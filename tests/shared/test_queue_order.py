"""The sort key of the queue: its text has the order of time, and within a millisecond that of priority."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duebell_shared.instants import render, to_utc
from duebell_shared.queue.items import item_of, parse_queued, render_queued, task_of
from duebell_shared.tasks.new_task import new_task
from tests.support import NOON

_TIMES = st.integers(min_value=-3, max_value=3).map(lambda n: NOON + n * timedelta(milliseconds=1))
_PLACES = st.tuples(_TIMES, st.integers(min_value=0, max_value=9))


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
