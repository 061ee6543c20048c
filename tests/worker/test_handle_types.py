"""An action's handle as type checkers know it."""

from typing import Any, assert_type

import pytest

from duebell import ArgumentsAction, Backoff, PayloadAction, TaskExists, Worker
from duebell.testing import Rehearsal
from tests.worker.rehearsed import HOUR, rehearsal, worker

__all__ = ["rehearsal", "worker"]


def test_the_other_arguments_are_those_of_an_editors_add(worker: Worker, rehearsal: Rehearsal) -> None:
    @worker.action("sell")
    def sell(*, item: int) -> None: ...

    sell.using(due=HOUR, id="one").add(item=42)
    with pytest.raises(TaskExists):
        sell.using(due=HOUR, id="one").add(item=42)
    assert sell.using(due=2 * HOUR, id="one", if_exists="keep").add(item=43).payload == {"item": 42}


def test_the_type_checker_knows_each_kind_of_function(worker: Worker) -> None:
    @worker.action("one")
    def one(payload: object) -> int:
        return 1

    @worker.action("two")
    def two(*, item: int = 1) -> None: ...

    @worker.action("three")
    def three() -> str:
        return "three"

    assert_type(one, PayloadAction[Any, [Any], int])
    assert_type(three, ArgumentsAction[[], [], str])
    assert_type(three(), str)
    assert isinstance(two, ArgumentsAction)
    assert (one.name, one.attempts, one.backoff, one.__name__) == ("one", 5, Backoff(), "one")
