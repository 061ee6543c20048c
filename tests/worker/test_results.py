"""The results of actions that keep them: what is stored, what is not, and what follow-ups get."""

import dataclasses
from typing import Any

import pytest

import duebell
from duebell import Editor, InvalidTask, Status, Task, Then, Worker
from duebell.testing import Rehearsal
from duebell_shared.queue.items import item_of
from tests.support import NOON
from tests.worker.hosted import HOUR, MINUTE
from tests.worker.log_lines import Log


@dataclasses.dataclass
class Total:
    euros: int
    items: tuple[str, ...]


class Unruly:
    """A user's value whose conversion breaks."""

    def model_dump(self, **_: object) -> object:
        raise KeyError("no such field \ud800")


def returning(given: dict[str, Any], task: Task) -> Any:
    """Fail as often as the payload says, and return its value then."""
    if task.attempt <= given.get("fails", 0):
        raise ValueError("not yet")
    return given["returns"]


async def in_time(given: dict[str, Any]) -> Any:
    assert not duebell.stopping().is_set()
    return given["returns"]


@pytest.fixture
def keeping(worker: Worker) -> Worker:
    worker.action("keep", keep_result=True, attempts=2)(returning)
    worker.action("keep_async", keep_result=True, stoppable=True, timeout=MINUTE)(in_time)
    worker.action("plain", attempts=2)(returning)
    worker.register()
    return worker


@pytest.mark.parametrize(
    ("action", "value"),
    [
        ("keep", {"a": [1.5, None, "ü"]}),
        ("keep", 12345678901234567890123),
        ("keep_async", ""),
        ("keep", None),
    ],
)
def test_what_an_action_returns_is_kept(keeping: Worker, editor: Editor, action: str, value: Any) -> None:
    editor.add(action, due=NOON, id="a", payload={"returns": value})
    assert editor.get("a").result is None
    keeping.run()
    task = editor.get("a")
    assert (task.status, task.result, task.result_error) == (Status.DONE, value, None)
    assert type(task.result) is type(value)


def test_of_an_action_that_keeps_none_nothing_is_stored(keeping: Worker, editor: Editor) -> None:
    editor.add("plain", due=NOON, id="a", payload={"returns": 42})
    keeping.run()
    task = editor.get("a")
    assert (task.status, task.result) == (Status.DONE, None)
    assert not {"result", "result_error"} & item_of(task).keys()


@pytest.mark.parametrize(
    ("value", "kept", "why"),
    [
        (Total(7, ("a",)), {"euros": 7, "items": ["a"]}, None),
        ("x" * 4094, "x" * 4094, None),
        ("x" * 4095, None, "is 4,097 bytes as JSON, at most 4,096 are kept"),
        (object(), None, "has no JSON form: "),
        ({1, 2}, None, "result is a set, and JSON has none: "),
        (float("nan"), None, "result is nan, which JSON cannot hold"),
        (Unruly(), None, "KeyError: 'no such field"),
    ],
    ids=["dataclass", "largest", "too large", "no JSON", "set", "nan", "breaks"],
)
def test_what_cannot_be_kept_is_told_and_the_task_is_done(
    worker: Worker, editor: Editor, log: Log, *, value: object, kept: object, why: str | None
) -> None:
    worker.action("act", keep_result=True)(lambda: value)
    editor.add("act", due=NOON, id="a")
    worker.run()
    task = editor.get("a")
    assert (task.status, task.attempt, task.result) == (Status.DONE, 1, kept)
    lines = log.lines("result_not_kept")
    if why is None:
        assert (task.result_error, lines) == (None, [])
    else:
        assert task.result_error
        assert task.result_error.startswith(why)
        assert [(line["id"], line["error"][: len(why)]) for line in lines] == [("a", why)]


def test_a_replacement_does_not_have_the_old_result(keeping: Worker, editor: Editor) -> None:
    # Given two tasks with results
    for id in ("replaced", "kept"):
        editor.add("keep", due=NOON, id=id, payload={"returns": id})
    keeping.run()
    assert editor.get("replaced").result == "replaced"
    # When both are added again, one to be replaced
    editor.add("plain", due=NOON + HOUR, id="replaced", payload={"returns": 1}, if_exists="replace")
    editor.add("keep", due=NOON + HOUR, id="kept", if_exists="keep")
    # Then what was is only there where nothing changed
    assert [editor.get(id).result for id in ("replaced", "kept")] == [None, "kept"]


def test_a_recurring_task_keeps_the_result_of_its_last_occurrence(worker: Worker) -> None:
    # Given a task whose second occurrence fails once, and whose third one for good
    seen: list[tuple[int, Any]] = []

    @worker.action("count", keep_result=True, attempts=2)
    def count(_: object, task: Task) -> int:
        seen.append((task.attempt, task.result))
        if len(seen) in {2, 4, 5}:
            raise ValueError("no")
        return len(seen)

    with Rehearsal(worker) as rehearsal:
        rehearsal.editor.add("count", schedule="rate(1 hour)", id="r", max_runs=4)
        rehearsal.let_time_pass(9 * HOUR)
        last = rehearsal.editor.get("r")
    # Then it is kept until an attempt of the next one fails
    assert seen == [(1, None), (1, 1), (2, None), (1, 3), (2, None), (1, None)]
    assert (last.status, last.result) == (Status.DONE, 6)


# Follow-ups.


@pytest.mark.parametrize("recurs", [False, True])
def test_a_follow_up_gets_the_result_as_a_field(keeping: Worker, recurs: bool) -> None:
    got: list[Any] = []

    @keeping.action("invoice")
    def invoice(*, order: int, total: float) -> None:
        got.append((order, total))

    when: dict[str, Any] = {"schedule": "rate(1 hour)", "max_runs": 1} if recurs else {"due": HOUR}
    with Rehearsal(keeping) as rehearsal:
        then = Then("invoice", {"order": 42}, result_as="total")
        task = rehearsal.editor.add("keep", payload={"returns": 9.99}, id="a", then=then, **when)
        assert task.then == rehearsal.editor.get("a").then
        rehearsal.let_time_pass(2 * HOUR)
        assert rehearsal.editor.get("a").follow_up_error is None
    assert got == [(42, 9.99)]


@pytest.mark.parametrize(
    ("action", "why"), [("keep", "is 5,002 bytes as JSON"), ("plain", "the action kept none")]
)
def test_without_a_result_there_is_no_follow_up_that_needs_it(
    worker: Worker, editor: Editor, action: str, why: str
) -> None:
    # Given a task that was added before the worker was known
    worker.action("keep", keep_result=True)(returning)
    worker.action("plain")(returning)
    editor.add(action, due=NOON, id="a", payload={"returns": "x" * 5_000}, then=Then("b", result_as="c"))
    worker.run()
    task = editor.get("a")
    assert (task.status, task.owes, len(editor.find("a/").tasks)) == (Status.DONE, None, 0)
    assert f"has no result to pass on: {why}" in (task.follow_up_error or "")


@dataclasses.dataclass
class Invoice:
    order: int
    total: float


def test_what_cannot_be_passed_on_is_refused_when_added_or_declared(keeping: Worker, editor: Editor) -> None:
    keeping.action("hear")(lambda payload: None)

    @keeping.action("invoice")
    def invoice(invoice: Invoice) -> None: ...

    keeping.register()
    order = {"order": 1}
    for action, payload, field, told in (
        ("plain", order, "total", "then.result_as: needs a result, and the action 'plain' keeps none"),
        ("keep", [order], "total", "then.payload: must be an object"),
        ("keep", {**order, "total": 1}, "total", "then.result_as: names 'total', which the payload has"),
        ("keep", {}, "total", "then.payload.order: is missing"),
        ("keep", order, "", "then.result_as: must be"),
        ("keep", order, 7, "then.result_as: must be"),
    ):
        then = Then("invoice", payload, result_as=field)  # type: ignore[arg-type]
        with pytest.raises(InvalidTask) as raised:
            editor.add(action, due=HOUR, payload={"returns": 1}, then=then)
        assert str(raised.value).startswith(told), (action, payload, field)
    then = Then("invoice", order, result_as="total")
    editor.add("keep", due=HOUR, payload={"returns": 1}, then=then, on_failed="plain")
    with pytest.raises(InvalidTask, match=r"then.result_as: cannot be combined with a batch"):
        editor.batch(then=then)
    with pytest.raises(InvalidTask, match="'other' keeps none: declare it with keep_result=True"):
        keeping.recurring("rate(1 hour)", id="r", payload={"returns": 1}, then=Then("b", result_as="c"))(
            keeping.action("other")(lambda payload: None)
        )
