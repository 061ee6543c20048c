"""The payload as the type that the action asks for, and what becomes of one that does not fit."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any, TypedDict, cast

import msgspec
import pydantic
import pytest

from duebell import Editor, Failure, InvalidTask, Status, Worker
from duebell_shared.backend import Backend


@dataclass
class SaleClass:
    item: int
    price: float = 1.5


class SaleDict(TypedDict):
    item: int
    price: float


class SaleStruct(msgspec.Struct):
    item: int
    price: float = 1.5


class SaleModel(pydantic.BaseModel):
    item: int
    price: float = 1.5


@pydantic.dataclasses.dataclass
class SalePydanticClass:
    item: int
    price: float = 1.5


PAYLOAD = {"item": 42, "price": 1.5}


def anything(payload: Any) -> None: ...


def plain(payload: dict) -> None: ...  # type: ignore[type-arg]


def a_mapping(payload: dict[str, float]) -> None: ...


def a_dataclass(payload: SaleClass) -> None: ...


def a_typed_dict(payload: SaleDict) -> None: ...


def a_struct(payload: SaleStruct) -> None: ...


def a_model(payload: SaleModel) -> None: ...


def a_pydantic_dataclass(payload: SalePydanticClass) -> None: ...


def in_quotes(payload: "SaleClass") -> None: ...


def optional(payload: SaleClass | None) -> None: ...


TYPED = [a_dataclass, a_typed_dict, a_struct, a_model, a_pydantic_dataclass, in_quotes, optional]


def register(worker: Worker, function: Callable[..., None]) -> list[Any]:
    """`function`'s annotations, as an action that keeps the payloads it gets."""
    got: list[Any] = []

    def act(payload: Any) -> None:
        got.append(payload)

    act.__annotations__ = function.__annotations__
    worker.action("act")(act)
    return got


@pytest.mark.parametrize(
    ("function", "payload"),
    [
        (anything, PAYLOAD),
        (plain, PAYLOAD),
        (a_mapping, PAYLOAD),
        (a_dataclass, SaleClass(item=42)),
        (a_typed_dict, PAYLOAD),
        (a_struct, SaleStruct(item=42)),
        (a_model, SaleModel(item=42)),
        (a_pydantic_dataclass, SalePydanticClass(item=42)),
        (in_quotes, SaleClass(item=42)),
        (optional, SaleClass(item=42)),
    ],
)
def test_the_payload_comes_as_the_type_that_is_asked_for(
    editor: Editor, worker: Worker, function: Callable[..., None], payload: Any
) -> None:
    got = register(worker, function)
    editor.add("act", due=editor._clock(), payload=PAYLOAD)
    assert worker.run().done == 1
    assert got == [payload]
    assert type(got[0]) is type(payload)


def test_plain_json_comes_unchanged_to_the_last_digit(editor: Editor, worker: Worker) -> None:
    payload = {
        "big": 2**70,
        "float": 0.1 + 0.2,
        "text": "Grüße \U0001f514",
        "none": None,
        "deep": [{"a": []}],
    }
    got = register(worker, anything)
    editor.add("act", due=editor._clock(), payload=payload)
    worker.run()
    assert got == [payload]
    assert type(got[0]["big"]) is int


@pytest.mark.parametrize(
    ("function", "payload", "field"),
    [
        *((function, {"item": "forty-two", "price": 1.5}, "item") for function in TYPED),
        (a_struct, {"price": 1.5}, "item"),
        (a_model, {"price": 1.5}, "item"),
        (a_dataclass, [1], "object"),
        (a_model, [1], "object"),
    ],
)
def test_a_payload_that_does_not_fit_fails_at_once_and_the_field_is_named(
    editor: Editor, worker: Worker, function: Callable[..., None], payload: Any, field: str
) -> None:
    # Given a task whose payload does not fit, and attempts to come
    got = register(worker, function)
    editor.add("act", due=editor._clock(), payload=payload, id="misfit")

    # When it is run
    report = worker.run()

    # Then the action was not called, and the task has failed for good and says where
    assert (report.failed, report.retried, got) == (1, 0, [])
    task = editor.get("misfit")
    assert (task.status, task.attempt) == (Status.FAILED, 1)
    failure = cast("Failure", task.failure)
    assert failure.type == "InvalidPayload"
    assert field in failure.message
    assert failure.traceback == ""


def test_every_fault_of_a_pydantic_payload_is_named(editor: Editor, worker: Worker) -> None:
    register(worker, a_model)
    editor.add("act", due=editor._clock(), payload={"item": "x", "price": "y"}, id="misfit")
    worker.run()
    message = cast("Failure", editor.get("misfit").failure).message
    assert message.startswith("item: ")
    assert "; price: " in message


@pytest.mark.parametrize("payload", ["{not json", "[" * 100_000])
@pytest.mark.parametrize("function", [anything, a_struct, a_model])
def test_a_payload_that_is_no_json_fails_at_once(
    editor: Editor, worker: Worker, backend: Backend, function: Callable[..., None], payload: str
) -> None:
    # Given a task whose payload someone edited in the table, badly
    got = register(worker, function)
    task = editor.add("act", due=backend.clock(), id="edited")
    edited = msgspec.structs.replace(task, payload_json=payload, rev=task.rev + 1)
    assert backend.store.save(task, edited)

    # When it is run
    worker.run()

    # Then it has failed for good: another attempt would read the same
    task = editor.get("edited")
    assert (task.status, got) == (Status.FAILED, [])
    assert cast("Failure", task.failure).type == "InvalidPayload"


@dataclass
class OrderClass:
    sale: SaleModel


@pytest.mark.parametrize("unsupported", [SaleClass | SaleStruct, OrderClass, list[SaleModel]])
def test_a_type_that_no_payload_can_have_is_refused(worker: Worker, unsupported: Any) -> None:
    def act(payload: Any) -> None: ...

    act.__annotations__ = {"payload": unsupported}
    with pytest.raises(TypeError, match="action 'act': a payload cannot be "):
        worker.action("act")(act)


class Aliased(pydantic.BaseModel):
    item: int = pydantic.Field(default=1, alias="itemNumber")


@pydantic.dataclasses.dataclass
class AliasedClass:
    item: int = pydantic.Field(default=1, alias="itemNumber")


@pytest.mark.parametrize(
    "value", [Aliased(itemNumber=42), AliasedClass(itemNumber=42)], ids=lambda value: type(value).__name__
)
def test_a_pydantic_value_is_written_by_the_names_that_it_is_read_by(
    editor: Editor, worker: Worker, value: object
) -> None:
    def act(payload: Any) -> None: ...

    act.__annotations__["payload"] = type(value)
    got = register(worker, act)
    editor.add("act", due=editor._clock(), payload=value)
    worker.run()
    assert got == [value]


class Signed(pydantic.BaseModel):
    key: pydantic.SecretStr = pydantic.SecretStr("")
    note: str = pydantic.Field(default="", exclude=True)


@pytest.mark.parametrize(
    "value", [Signed(key=pydantic.SecretStr("hunter2")), Signed(note="loud")], ids=["secret", "excluded"]
)
def test_a_pydantic_value_that_json_would_change_is_refused(worker: Worker, value: Signed) -> None:
    @worker.action("sign")
    def sign(payload: Signed) -> None: ...

    with pytest.raises(InvalidTask, match="payload: would reach the action with other values"):
        sign.using(due=timedelta(0)).add(value)
    assert sign.checked(Signed()) == Signed()


class Colour(Enum):
    RED = "red"


def test_a_wrong_value_of_an_enum_is_not_repeated(editor: Editor, worker: Worker) -> None:
    @worker.action("paint")
    def paint(payload: dict[str, Colour]) -> None: ...

    editor.add("paint", due=editor._clock(), payload={"wall": "hunter2 - at `$.x"}, id="misfit")
    worker.run()
    failure = cast("Failure", editor.get("misfit").failure)
    assert failure.message == "not one of the values allowed - at `payload[...]`"
