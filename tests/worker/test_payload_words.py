"""A fault of a payload is told in the same words, whoever adds the task; a misspelt field is told, too."""

import dataclasses
import warnings
from datetime import timedelta
from typing import Any, Literal

import boto3
import msgspec
import pydantic
import pytest

from duebell import DoubtfulPayload, Editor, InvalidTask, PayloadAction, Worker
from duebell_shared.backend import Backend
from duebell_shared.settings import Settings
from tests.support import Clock

HOUR = timedelta(hours=1)


@dataclasses.dataclass
class Discount:
    percent: int = 0


@dataclasses.dataclass
class Sale:
    item: int
    discount: Discount | None = None


class Strict(msgspec.Struct, forbid_unknown_fields=True):
    item: int
    discount: Discount | None = None


class Model(pydantic.BaseModel):
    item: int
    discount: Discount | None = None


class Computing(pydantic.BaseModel):
    item: int

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def twice(self) -> int:
        return 2 * self.item


def act_on(worker: Worker, payload_type: Any) -> PayloadAction[Any, Any, None]:
    def act(payload: Any) -> None: ...

    act.__annotations__["payload"] = payload_type
    action: PayloadAction[Any, Any, None] = worker.action(act)
    return action


def told(call: Any) -> str:
    """The text of the one warning or error of this call."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        try:
            call()
        except InvalidTask as error:
            return str(error)
    assert {one.category for one in seen} <= {DoubtfulPayload}
    assert {one.filename for one in seen} <= {__file__}
    (text,) = {str(one.message) for one in seen} or {""}
    return text


@pytest.mark.parametrize(
    ("payload_type", "payload", "text"),
    [
        (Sale, {"item": "1"}, "payload.item: must be a whole number"),
        (Sale, {"itme": 1}, "payload.item: is missing: 'itme' is given, which is not a field"),
        (
            Sale,
            {"item": 1, "discuont": {}},
            "payload.discuont: is not a field, and is left out: did you mean discount? "
            "The fields are item, discount",
        ),
        (
            Sale,
            {"item": 1, "discount": {"pct": 3}},
            "payload.discount.pct: is not a field, and is left out: did you mean percent? "
            "The fields are percent",
        ),
        (Model, {"itme": 1}, "payload.item: is missing: 'itme' is given, which is not a field"),
        (
            Strict,
            {"item": 1, "discuont": {}},
            "payload.discuont: is not a field: did you mean discount? The fields are item, discount",
        ),
        (dict[str, int], {"whatever": 1}, ""),
        (
            list[Sale] | Sale,
            [{"item": 1}, {"item": 1, "x": 2}],
            "payload[1].x: is not a field, and is left out: the fields are item, discount",
        ),
    ],
)
def test_a_handle_and_an_editor_tell_a_fault_in_the_same_words(
    backend: Backend, payload_type: Any, payload: Any, text: str
) -> None:
    worker = Worker(backend=backend)
    action = act_on(worker, payload_type)
    expected = f"{text}, for the action 'act'" if text else ""
    # By the handle, while nothing is known of the worker
    assert told(lambda: action.using(due=HOUR).task(payload)) == expected
    # By its name, when it is
    worker.register()
    editor = Editor(backend=backend)
    assert told(lambda: editor.add("act", payload=payload, due=HOUR)) == expected
    # And by both at once, at one place
    assert told(lambda: action.using(due=HOUR).add(payload)) == expected


class Range(pydantic.BaseModel):
    first: int
    last: int
    names: list[Literal["a", "b"]] = []

    @pydantic.field_validator("last")
    @classmethod
    def _is_even(cls, last: int) -> int:
        if last % 2:
            raise ValueError("must be even")
        return last


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        # What the schema does not tell
        ({"first": 1, "last": 3}, "payload.last: Value error, must be even"),
        # And what it tells, but of another field, which pydantic converts
        ({"first": "1", "last": 3}, "payload.last: Value error, must be even"),
        ({"first": "1", "last": 2, "names": ["c"]}, "payload.names[0]: Input should be 'a' or 'b'"),
    ],
)
def test_a_fault_that_only_pydantic_finds_is_told_in_its_words_with_the_field(
    payload: dict[str, Any], text: str
) -> None:
    action = act_on(Worker(), Range)
    with pytest.raises(InvalidTask) as raised:
        action.checked(payload)
    assert str(raised.value) == f"{text}, for the action 'act'"
    assert raised.value.field == text.partition(":")[0]


def test_strict_actions_store_a_task_whose_field_is_left_out_as_it_will_run(
    session: boto3.Session, clock: Clock
) -> None:
    settings = Settings(strict_actions=True)
    backend = Backend.connect(settings, session, clock=clock, sleep=clock.sleep)
    worker = Worker(backend=backend)
    act_on(worker, Sale)
    worker.register()
    with pytest.warns(DoubtfulPayload, match="payload.x"):
        worker.editor.add("act", payload={"item": 1, "x": 2}, due=timedelta(0))
    assert worker.run().done == 1


def test_a_typed_value_may_write_more_than_is_read(backend: Backend) -> None:
    worker = Worker(backend=backend)
    action = act_on(worker, Computing)
    worker.register()
    assert told(lambda: action.using(due=HOUR).add(Computing(item=1))) == ""
    assert told(lambda: Editor(backend=backend).add("act", payload=Computing(item=1), due=HOUR)) == ""


def test_a_missing_argument_is_told_with_the_unknown_one(backend: Backend) -> None:
    worker = Worker(backend=backend)

    @worker.action
    def sell(*, item: int, price: float = 1.5) -> None: ...

    with pytest.raises(TypeError) as raised:
        sell.using(due=HOUR).add(itme=1)  # type: ignore[call-arg]
    assert (
        str(raised.value) == "action 'sell': payload.item: is missing: 'itme' is given, which is not a field"
    )
    worker.register()
    by_name = told(lambda: Editor(backend=backend).add("sell", payload={"itme": 1}, due=HOUR))
    assert by_name == "payload.item: is missing: 'itme' is given, which is not a field, for the action 'sell'"
    with pytest.raises(
        TypeError, match=r"payload.prise: is not a field: did you mean price\? The fields are"
    ):
        sell.using(due=HOUR).add(item=1, prise=1.0)  # type: ignore[call-arg]
