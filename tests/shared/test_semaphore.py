"""The semaphore: no more starts than the rate allows in any window, and no more at a time than it says."""

from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from duebell_shared.limits.limits import Limit, Limits, Permits, Semaphore
from tests.support import NOON

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)

takes = st.lists(
    st.tuples(st.floats(0, 30), st.lists(st.booleans(), min_size=1, max_size=12)), min_size=1, max_size=40
)


def take(
    semaphore: Semaphore, limit: Limit, waited: list[bool], now: datetime = NOON, run: str = "a"
) -> tuple[Semaphore, tuple[datetime | None, ...]]:
    return semaphore.take(limit, waited, now=now, run=run, until=now + 2 * MINUTE, takes=SECOND)


@given(takes, st.sampled_from([0.01, 0.5, 1, 3, 10.5]))
def test_in_no_window_are_more_started_than_the_rate_and_a_second_allow(
    steps: list[tuple[float, list[bool]]], rate: float
) -> None:
    semaphore, now, starts = Semaphore(), NOON, []
    for pause, waited in steps:
        now += timedelta(seconds=pause)
        semaphore, places = take(semaphore, Limit(per_second=rate), waited, now)
        starts += [now for place in places if place is None]
        assert all(place is None or place > now for place in places)
    for first, begin in enumerate(starts):
        for last, end in enumerate(starts[first:], start=first):
            assert last - first + 1 <= rate * (end - begin).total_seconds() + max(int(rate), 1) + 1e-3


@given(takes, st.integers(1, 6))
def test_no_more_permits_are_given_than_exist(steps: list[tuple[float, list[bool]]], at_most: int) -> None:
    semaphore, now = Semaphore(), NOON
    for number, (pause, waited) in enumerate(steps):
        now += timedelta(seconds=pause)
        semaphore, places = take(semaphore, Limit(at_most=at_most), waited, now, run=f"run-{number % 3}")
        alive = sum(one.count for one in semaphore.permits.values() if one.until > now)
        assert alive <= at_most
        assert alive == at_most or None in places or not waited or semaphore.line > now


def test_places_in_the_line_are_as_far_apart_as_starts_may_be() -> None:
    semaphore, places = take(Semaphore(), Limit(per_second=2), [False] * 5)
    assert places == (None, None, *(NOON + n * SECOND / 2 for n in (1, 2, 3)))
    # One that comes later is behind those that wait
    _, [later] = take(semaphore, Limit(per_second=2), [False], NOON + SECOND)
    assert later == NOON + 2 * SECOND
    # Those that come in time are started
    _, [in_time] = take(semaphore, Limit(per_second=2), [True], NOON + SECOND / 2)
    assert in_time is None


def test_one_that_comes_late_has_a_line_of_its_own() -> None:
    semaphore, _ = take(Semaphore(), Limit(per_second=1), [False] * 600)
    semaphore, places = take(semaphore, Limit(per_second=1), [True] * 4, NOON + 5 * MINUTE)
    assert places == (None, *(NOON + 5 * MINUTE + n * SECOND for n in (1, 2, 3)))


def test_another_rate_begins_without_the_old_line_and_without_a_burst() -> None:
    semaphore, _ = take(Semaphore(), Limit(per_second=1), [False] * 600)
    faster, places = take(semaphore, Limit(per_second=100), [False] * 3)
    assert places == tuple(NOON + n * SECOND / 100 for n in (1, 2, 3))
    assert faster.line < NOON + SECOND


def test_room_is_what_a_take_would_start_of_those_that_waited() -> None:
    semaphore = Semaphore(permits={"other": Permits(2, NOON + MINUTE), "a": Permits(1, NOON + MINUTE)})
    limit = Limit(at_most=5)
    assert semaphore.free(limit, now=NOON, run="a", under_way=1) == 2
    assert semaphore.free(limit, now=NOON + MINUTE, run="a", under_way=1) == 4
    assert semaphore.free(limit, now=NOON, run="a", under_way=4) == 0
    assert take(semaphore, limit, [True] * 5)[1].count(None) == 2


@given(st.sampled_from([0.01, 0.5, 1, 3, 10.5]), st.integers(0, 20), st.floats(0, 30))
def test_room_by_the_rate_is_what_a_take_would_start(rate: float, taken: int, pause: float) -> None:
    semaphore, now = Semaphore(), NOON + timedelta(seconds=pause)
    if taken:
        semaphore, _ = take(semaphore, Limit(per_second=rate), [True] * taken)
        started = take(semaphore, Limit(per_second=rate), [True] * 40, now)[1].count(None)
        room = semaphore.free(Limit(per_second=rate), now=now, run="a", under_way=0)
        assert room == started


def test_permits_of_a_run_end_with_its_lease_and_are_renewed() -> None:
    semaphore = Semaphore(permits={"dead": Permits(2, NOON + SECOND), "alive": Permits(1, NOON + MINUTE)})
    _, places = take(semaphore, Limit(at_most=3), [False])
    assert places[0] is not None
    renewed = semaphore.renewed("alive", 1, until=NOON + 2 * MINUTE)
    assert renewed.permits["alive"] == Permits(1, NOON + 2 * MINUTE)
    taken, places = take(renewed, Limit(at_most=3), [False] * 3, NOON + SECOND)
    assert places[:2] == (None, None)
    assert places[2] is not None
    assert taken.permits.keys() == {"a", "alive"}
    assert taken.permits["a"].count == 2


def test_a_line_of_tasks_that_waited_is_over_at_its_end() -> None:
    limits = Limits().changed("mail", Limit(per_second=2), now=NOON, line=NOON + MINUTE)
    assert limits.lines(NOON) == {"mail": NOON + MINUTE}
    assert limits.lines(NOON + MINUTE) == {}
