"""An action as a typed handle: what `add` and `task` take, and where the tasks go."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, assert_type

import pytest

from duebell import Backoff, InvalidTask, NewTask, PayloadAction, Status, Task, TaskExists, Worker
from duebell.testing import Rehearsal

HOUR = timedelta(hours=1)


@dataclass
class Sale:
    item: int
    price: float = 1.5


@pytest.fixture
def worker() -> Worker:
    return Worker()


@pytest.fixture
def rehearsal(worker: Worker) -> Rehearsal:
    return Rehearsal(worker)


def test_what_the_function_cannot_take_is_not_stored(worker: Worker, rehearsal: Rehearsal) -> None:
    @worker.action("sell")
    def sell(*, item: int, price: float = 1.0) -> None: ...

    @worker.action("remind")
    def remind(payload: Sale, task: Task) -> None: ...

    sells, reminds = sell.using(due=HOUR), remind.using(due=HOUR)
    tidies: Any = worker.action("tidy")(lambda: None).using(due=HOUR)
    of_item = "^payload: Expected `int`, got `str` - at `payload.item`, for the action 'sell'$"
    no_option = "^'dew' is no option of a task: `add` takes what the action is given$"
    no_field = "^'if_exists' is no field of a task: give it to `add_one` or `add_many`$"
    for call, error, words in (
        (lambda: sells.add(item="x"), InvalidTask, of_item),  # type: ignore[arg-type]
        (lambda: sells.add(price=1.0), TypeError, "missing a required.*argument: 'item'"),  # type: ignore[call-arg]
        (lambda: sells.add(item=1, dew=1), TypeError, "unexpected keyword argument 'dew'"),  # type: ignore[call-arg]
        (lambda: sells.add(item=1, price=float("nan")), InvalidTask, "payload.*nan"),
        (lambda: sells.add(1), TypeError, "too many positional"),  # type: ignore[call-arg]
        (lambda: reminds.add({"item": 1}, dew=1), TypeError, "give the payload, and nothing else"),  # type: ignore[arg-type, call-arg]
        (lambda: reminds.task(Sale("x")), InvalidTask, "^payload: Expected `int`"),  # type: ignore[arg-type]
        (lambda: tidies.add(item=1), TypeError, "unexpected keyword argument 'item'"),
        (lambda: remind.using().add(Sale(1)), InvalidTask, "due: is missing"),
        (lambda: remind.using(dew=HOUR), TypeError, no_option),  # type: ignore[call-arg]
        (lambda: sell.using(if_exists="keep").task(item=1), TypeError, no_field),
    ):
        with pytest.raises(error, match=words):
            call()
    assert not rehearsal.editor.list().tasks


def test_a_whole_payload_is_added(worker: Worker, rehearsal: Rehearsal) -> None:
    got = []

    @worker.action("sell")
    def sell(payload: Sale, task: Task) -> None:
        got.append((payload, task.id))

    assert_type(sell, PayloadAction[Sale, [Sale, Task], None])
    task = sell.using(due=HOUR, id="one").add(Sale(42))
    assert (task.id, task.action, task.payload) == ("one", "sell", {"item": 42, "price": 1.5})
    sell.using(schedule="rate(1 day)", max_runs=1, id="two").add(Sale(43))
    rehearsal.let_time_pass(timedelta(days=2))
    assert got == [(Sale(42), "one"), (Sale(43), "two")]


def test_arguments_are_the_fields_of_the_payload_and_may_come_with_the_task(
    worker: Worker, rehearsal: Rehearsal
) -> None:
    got: list[tuple[object, ...]] = []

    @worker.action("sell")
    def sell(*, item: int, price: float = 1.5) -> None:
        got.append((item, price))

    @worker.action("give")
    async def give(task: Task, *, item: int) -> None:
        got.append((task.id, item))

    @worker.action("tick")
    def tick(task: Task) -> None:
        got.append((task.id, task.attempt))

    task = sell.using(due=HOUR, id="one").add(item=42)
    assert (task.id, task.payload) == ("one", {"item": 42})
    rehearsal.editor.add("sell", due=2 * HOUR, payload={"item": 44, "price": 2.5})
    give.using(due=3 * HOUR, id="two").add(item=43)
    tick.using(due=4 * HOUR, id="three").add()
    rehearsal.let_time_pass(4 * HOUR)
    assert got == [(42, 1.5), (44, 2.5), ("two", 43), ("three", 1)]
    sell(item=1)
    assert got[-1] == (1, 1.5)


def test_tasks_for_add_many(worker: Worker, rehearsal: Rehearsal) -> None:
    @worker.action("sell")
    def sell(*, item: int) -> None: ...

    @worker.action("remind")
    def remind(payload: Sale) -> None: ...

    tasks = [sell.using(due=HOUR, id="one").task(item=42), remind.using(due=HOUR, id="two").task(Sale(43))]
    assert tasks == [
        NewTask(action="sell", due=HOUR, payload={"item": 42}, id="one"),
        NewTask(action="remind", due=HOUR, payload=Sale(43), id="two"),
    ]
    assert rehearsal.editor.add_many(tasks).added == ("one", "two")


def test_tasks_are_added_with_the_workers_editor_or_the_one_it_was_given(
    worker: Worker, rehearsal: Rehearsal
) -> None:
    @worker.action("act")
    def act() -> None: ...

    assert act.using(due=HOUR, id="one").add().changed_by is None
    before = worker.set_editor(rehearsal.editor.acting_as("the shop"))
    assert act.using(due=HOUR, id="two").add().changed_by == "the shop"
    assert before is rehearsal.editor
    rehearsal.let_time_pass(HOUR)
    assert rehearsal.editor.get("two").status is Status.DONE


def test_a_rehearsal_takes_the_tasks_that_actions_add_and_gives_the_editor_back(worker: Worker) -> None:
    @worker.action("again")
    def again(task: Task, *, left: int) -> None:
        if left:
            again.using(due=HOUR, id=f"left-{left - 1}").add(left=left - 1)

    with Rehearsal(worker) as one:
        again.using(due=HOUR, id="left-2").add(left=2)
        with Rehearsal(worker) as other:
            assert one.let_time_pass(5 * HOUR)
            assert one.editor.get("left-0").status is Status.DONE
            assert worker.editor is other.editor
            assert not other.editor.list().tasks
        assert worker.editor is one.editor
    assert worker._editor is None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"first": timedelta(0)}, "first must be above zero"),
        ({"first": 2 * HOUR}, "at most longest"),
        ({"factor": 0.5}, "factor must be 1 to 100, not 0.5"),
        ({"factor": float("nan")}, "factor must be 1 to 100, not nan"),
        ({"factor": 101}, "factor must be 1 to 100, not 101"),
    ],
)
def test_a_back_off_that_cannot_be_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=f"backoff: .*{words}"):
        Backoff(**given)


def test_a_coroutine_adds_by_each_kind_of_handle(worker: Worker, rehearsal: Rehearsal) -> None:
    @worker.action("sell")
    def sell(payload: Sale) -> None: ...

    @worker.action("remind")
    def remind(*, user: int) -> None: ...

    async def add() -> None:
        assert_type(await sell.using(due=HOUR, id="one").add_async(Sale(42)), Task)
        assert_type(await remind.using(due=HOUR, id="two").add_async(user=7), Task)
        with pytest.raises(TaskExists):
            await remind.using(due=HOUR, id="two").add_async(user=7)
        with pytest.raises(InvalidTask, match=r"`payload\.user`"):
            await remind.using(due=HOUR).add_async(user="x")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="user"):
            await remind.using(due=HOUR).add_async(name="x")  # type: ignore[call-arg]

    asyncio.run(add())
    assert rehearsal.editor.get("one").payload == {"item": 42, "price": 1.5}
    assert rehearsal.editor.get("two").payload == {"user": 7}


def test_arguments_may_have_the_names_of_options(worker: Worker, rehearsal: Rehearsal) -> None:
    got = []

    @worker.action("plan")
    def plan(*, id: int, start: str, payload: str, self: int, transaction: int = 0) -> None:
        got.append((id, start, payload, self, transaction))

    plan.using(due=HOUR, id="one").add(id=42, start="now", payload="x", self=7)
    rehearsal.let_time_pass(HOUR)
    assert got == [(42, "now", "x", 7, 0)]


def test_a_handle_adds_by_a_transaction(worker: Worker, rehearsal: Rehearsal) -> None:
    @worker.action("sell")
    def sell(*, item: int) -> None: ...

    with rehearsal.editor.transaction() as tx:
        sell.using(due=HOUR, id="one", transaction=tx).add(item=42)
        assert not rehearsal.editor.list().tasks
        with pytest.raises(InvalidTask, match="if_exists: is not a field of a task"):
            sell.using(due=HOUR, if_exists="keep", transaction=tx).add(item=42)
    assert rehearsal.editor.get("one").payload == {"item": 42}
