"""Writes of one moment go together, in calls that are not too full."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from duebell_worker.run.lanes import Batcher


def test_items_that_come_during_two_calls_share_the_next_calls_up_to_their_most() -> None:
    # Given a call during which other items come
    calls: list[list[int]] = []

    def call(batch: list[int]) -> None:
        calls.append(batch)
        if batch == [1]:
            gathered(2)  # makes a call beside the first
        if batch == [2]:
            for number in range(3, 10):
                gathered(number)
            assert calls == [[1], [2]]

    gathered = Batcher(call, most=5)
    gathered(1)

    # Then the calls under way take them
    assert calls == [[1], [2], [3, 4, 5, 6, 7], [8, 9]]
    # And an item that comes alone is handled at once
    gathered(10)
    assert calls[-1] == [10]


def test_items_of_threads_at_the_same_moment_share_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given a thread that pauses before its call, and other items that come meanwhile
    calls: list[list[int]] = []
    gathered = Batcher(calls.append, most=25, side_by_side=1)
    pauses, are_brought = threading.Event(), threading.Event()

    def pause(_: float) -> None:
        pauses.set()
        assert are_brought.wait(60)

    monkeypatch.setattr("duebell_worker.run.lanes.time.sleep", pause)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(gathered, 1)
        assert pauses.wait(60)
        for number in range(2, 10):
            gathered(number)
        are_brought.set()
        first.result()
    # Then one call takes all
    assert calls == [list(range(1, 10))]
