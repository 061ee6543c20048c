"""Occurrences packed: nothing is lost but words, and twenty of them never take more than 600 bytes."""

import hashlib
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from duebell_shared.instants import MILLISECOND
from duebell_shared.tasks.checks import LARGEST
from duebell_shared.tasks.history import (
    MAX_OCCURRENCES,
    MAX_PACKED,
    Occurrence,
    Result,
    bounded_occurrences,
    pack,
    unpack,
)
from tests.support import NOON

DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)


def instants(first: datetime, last: datetime) -> st.SearchStrategy[datetime]:
    """Whole milliseconds."""
    most = (last - first) // MILLISECOND
    return st.integers(0, most).map(lambda number: first + number * MILLISECOND)


def occurrences(
    times: st.SearchStrategy[datetime], most: int, words: st.SearchStrategy[str]
) -> st.SearchStrategy[list[Occurrence]]:
    one = st.builds(
        Occurrence,
        due=times,
        started_at=st.none() | times,
        finished_at=times,
        lateness_ms=st.none() | st.integers(-most, most),
        attempts=st.integers(0, most),
        result=st.sampled_from(Result),
        missed=st.just(0) | st.integers(0, most),
        extra=st.booleans(),
        failure=st.none() | words,
    )
    return st.lists(one, max_size=25)


#: Whatever an occurrence can be.
WORDS = st.text(max_size=400) | st.sampled_from(["", "no", "\x00" * 300, "𝄞" * 300, '"\\' * 150])
ANY = occurrences(instants(datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)), LARGEST, WORDS)


def every(step: timedelta, count: int = MAX_OCCURRENCES, **changes: object) -> tuple[Occurrence, ...]:
    """Occurrences in a row, as a worker has them: late by a minute or so, each over after some time."""
    return tuple(
        Occurrence(
            due=NOON + number * step,
            started_at=NOON + number * step + (late := timedelta(milliseconds=30_000 + number * 1_117)),
            finished_at=NOON + number * step + late + timedelta(milliseconds=200 + number * 731),
            lateness_ms=late // MILLISECOND,
            attempts=1,
            result=Result.DONE,
            **changes,  # type: ignore[arg-type]
        )
        for number in range(count)
    )


def failing(words: list[str]) -> tuple[Occurrence, ...]:
    return tuple(
        replace(one, result=Result.FAILED, failure=text)
        for one, text in zip(every(DAY, len(words)), words, strict=True)
    )


@settings(max_examples=80, deadline=None, derandomize=True)
@given(ANY)
def test_whatever_they_are_they_come_back_and_never_take_more(given: list[Occurrence]) -> None:
    bounded = bounded_occurrences(given)
    packed = pack(bounded)
    assert len(packed) <= MAX_PACKED
    assert unpack(packed, Occurrence) == bounded
    assert bounded_occurrences(bounded) == bounded  # so a task in hand is as it will be read
    kept = given[len(given) - len(bounded) :]
    for before, after in zip(kept, bounded, strict=True):
        assert replace(before, failure=None) == replace(after, failure=None)
        assert (before.failure is None) == (after.failure is None)
        assert (before.failure or "").startswith(after.failure or "")


@settings(max_examples=40, deadline=None, derandomize=True)
@given(occurrences(instants(NOON, NOON + 400 * DAY), 10_000, WORDS))
def test_no_occurrence_of_an_ordinary_life_is_left_out(given: list[Occurrence]) -> None:
    assert len(bounded_occurrences(given)) == min(len(given), MAX_OCCURRENCES)


@pytest.mark.parametrize(
    "step", [MINUTE, DAY, timedelta(days=1, seconds=7), timedelta(milliseconds=86_400_001)]
)
def test_twenty_that_went_well_take_few_bytes(step: timedelta) -> None:
    assert len(pack(every(step))) <= 180
    # And so do those of a task with a spread, which start later than they are due, all by the same
    spread = [replace(one, lateness_ms=(one.lateness_ms or 0) - 12_345) for one in every(step)]
    assert len(pack(spread)) <= 190


def test_twenty_that_failed_with_the_same_words_keep_them_all() -> None:
    bounded = bounded_occurrences(failing(["ValueError: " + "x" * 280] * 20))
    assert len(pack(bounded)) < 520
    assert {one.failure for one in bounded} == {"ValueError: " + "x" * 280}


def test_failures_with_different_words_keep_their_beginnings() -> None:
    words = [f"{number:02} " + hashlib.sha256(bytes([number])).hexdigest() * 4 for number in range(20)]
    bounded = bounded_occurrences(failing(words))
    assert {len(one.failure or "") for one in bounded} == {25}
    # And one that failed among those that went well keeps all its words
    one = bounded_occurrences((*every(DAY, 10), *failing(["x" * 300]), *every(DAY, 9)))
    assert [len(each.failure) for each in one if each.failure] == [300]


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.binary(max_size=80) | st.binary(max_size=80).map(b"\x03".__add__))
def test_bytes_of_someone_else_are_refused_or_read(foreign: bytes) -> None:
    try:
        read = unpack(foreign, Occurrence)
    except (ValueError, OverflowError):
        return
    # And it can be written again
    assert unpack(pack(read), Occurrence) == read


def test_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match="another version"):
        unpack(b"\x01" + pack(every(DAY))[1:], Occurrence)
