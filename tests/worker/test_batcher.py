"""Writes of one moment go together: in batches, in which one that raises fails alone."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from duebell import Worker
from duebell_infra.testing import InlinePool
from duebell_shared.tasks.status import Status
from duebell_worker.run.lanes import Batcher
from tests.editor.memory import Scheduler


@pytest.mark.parametrize("verb", ["claim_many", "save_many"])
def test_one_that_raises_takes_no_other_with_it(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scheduler = Scheduler.start()
    worker = Worker(backend=scheduler.backend, pool=lambda _: InlinePool())
    worker.action("act")(lambda: None)
    ids = ["a", "odd", "b"]
    for id in ids:
        scheduler.editor.add("act", due=timedelta(0), id=id)
    write = getattr(scheduler.store, verb)

    def write_or_raise(batch: Sequence[Any], **how: Any) -> Any:
        if any((one if verb == "claim_many" else one[0]).id == "odd" for one in batch):
            raise ValueError("nobody foresaw it")
        return write(batch, **how)

    monkeypatch.setattr(scheduler.store, verb, write_or_raise)
    scheduler.clock.advance(timedelta(minutes=2))
    worker.run()
    done = [scheduler.editor.get(id).status is Status.DONE for id in ids]
    assert done == [True, False, True]


def test_what_comes_while_two_calls_are_under_way_goes_together_and_no_more_than_fits() -> None:
    # Given a call during which others come
    calls: list[list[int]] = []

    def call(batch: list[int]) -> None:
        calls.append(batch)
        if batch == [1]:
            gathered(2)  # this one is made beside it
        if batch == [2]:
            for number in range(3, 10):
                gathered(number)
            assert calls == [[1], [2]]

    gathered = Batcher(call, most=5)
    gathered(1)

    # Then they are left to those that are under way
    assert calls == [[1], [2], [3, 4, 5, 6, 7], [8, 9]]
    # And the next one alone is dealt with at once again
    gathered(10)
    assert calls[-1] == [10]


def test_beside_a_call_that_is_under_way_only_full_ones_are_made_where_that_is_asked_for() -> None:
    # Given a call during which others come, a few at a time
    calls: list[list[int]] = []

    def call(batch: list[int]) -> None:
        calls.append(batch)
        if batch == [1]:
            gathered(2, 3)
            assert calls == [[1]]  # too few for a call of their own
            gathered(4, 5, 6)
            assert calls == [[1], [2, 3, 4, 5]]  # these fill one; the last is left to the call under way

    gathered = Batcher(call, most=4, fills=True)
    gathered(1)

    # Then the call that was under way takes what is left, and nothing stays behind
    assert calls == [[1], [2, 3, 4, 5], [6]]
    gathered(7)
    assert calls[-1] == [7]
