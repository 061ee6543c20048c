"""What an action's function cannot take is refused before it is stored, or fails with a clear message.

The `type: ignore` comments are tests, too: mypy says so when one of them is not needed.
"""

from collections.abc import Callable

import pytest

from duebell import InvalidTask, Task, Worker
from duebell.testing import Rehearsal
from tests.worker.rehearsed import HOUR, Sale, rehearsal, worker

__all__ = ["rehearsal", "worker"]


def refused(worker: Worker, call: Callable[[], object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()
    assert not list(worker.editor.list().tasks)


def test_what_the_function_cannot_take_is_not_stored(worker: Worker, rehearsal: Rehearsal) -> None:
    @worker.action("sell")
    def sell(*, item: int, price: float = 1.0) -> None: ...

    @worker.action("remind")
    def remind(payload: Sale, task: Task) -> None: ...

    @worker.action("tidy")
    def tidy() -> None: ...

    for call, error, words in (
        (
            lambda: sell.using(due=HOUR).add(item="x"),  # type: ignore[arg-type]
            InvalidTask,
            "^payload.item: must be a whole number, for the action 'sell'$",
        ),
        (
            lambda: sell.using(due=HOUR).add(),  # type: ignore[call-arg]
            TypeError,
            "action 'sell': payload.item: is missing$",
        ),
        (
            lambda: sell.using(due=HOUR).add(item=1, dew=1),  # type: ignore[call-arg]
            TypeError,
            "action 'sell': payload.dew: is not a field: the fields are item, price$",
        ),
        (
            lambda: sell.using(due=HOUR).task(item=None),  # type: ignore[arg-type]
            InvalidTask,
            "^payload.item: must be a whole number",
        ),
        (lambda: sell.using(due=HOUR).add(item=1, price=float("nan")), InvalidTask, "payload.*nan"),
        (
            lambda: remind.using(due=HOUR).add({"item": 1}, dew=1),  # type: ignore[arg-type, call-arg]
            TypeError,
            "action 'remind': give the payload, and nothing else",
        ),
        (
            lambda: remind.using(due=HOUR).add({"price": 1}),  # type: ignore[arg-type]
            InvalidTask,
            "^payload.item: is missing, for the action 'remind'$",
        ),
        (lambda: remind.using().task(Sale("x")), InvalidTask, "^payload.item: must be"),  # type: ignore[arg-type]
        (lambda: tidy.using(due=HOUR).add(item=1), TypeError, "'tidy': payload.item: is not a field$"),  # type: ignore[call-arg]
        (lambda: remind.using().add(Sale(1)), InvalidTask, "due: is missing"),
        (lambda: remind.using(dew=HOUR), TypeError, "'dew' is no option of a task"),  # type: ignore[call-arg]
        (lambda: tidy.using(if_exists="keep").task(), TypeError, "'if_exists' is no field of a task"),
        (lambda: sell.using(due=HOUR).add(1), TypeError, "by keyword"),  # type: ignore[call-arg]
    ):
        refused(worker, call, error, words)


def test_a_payload_that_does_not_fit_the_arguments_fails_clearly(
    worker: Worker, rehearsal: Rehearsal
) -> None:
    @worker.action("sell")
    def sell(*, item: int) -> None: ...

    rehearsal.editor.add("sell", due=HOUR, payload={"item": 1, "price": 2}, id="more")
    rehearsal.editor.add("sell", due=HOUR, payload={}, id="less")
    rehearsal.editor.add("sell", due=HOUR, payload=[1], id="other")
    rehearsal.let_time_pass(HOUR)
    failures = {id: rehearsal.editor.get(id).failure for id in ("more", "less", "other")}
    assert {id: failure and (failure.type, failure.message) for id, failure in failures.items()} == {
        "more": ("InvalidPayload", "Object contains unknown field `price`"),
        "less": ("InvalidPayload", "Object missing required field `item`"),
        "other": ("InvalidPayload", "Expected `object`, got `array`"),
    }


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda payload, *, item: None, "nothing fills the argument 'item'"),
    ],
)
def test_arguments_that_cannot_be_told_apart_or_filled_are_refused(
    worker: Worker, function: Callable[..., None], words: str
) -> None:
    with pytest.raises(TypeError, match=f"action 'act': {words}"):
        worker.action("act")(function)


def test_the_task_is_given_by_position(worker: Worker) -> None:
    def act(*, the_task: Task) -> None: ...

    with pytest.raises(TypeError, match=r"gets it by position: def act\(task: Task, \*, …\)"):
        worker.action("act")(act)
