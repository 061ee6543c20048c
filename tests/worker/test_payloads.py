"""The payload as the type that the action asks for, and what becomes of one that does not fit."""

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


def register(worker: Worker, annotation: Any) -> list[Any]:
    """An action whose payload has this type; it keeps the payloads it gets."""
    got: list[Any] = []

    def act(payload: Any) -> None:
        got.append(payload)

    act.__annotations__ = {"payload": annotation}
    worker.action("act")(act)
    return got


@pytest.mark.parametrize(
    ("annotation", "payload"),
    [
        (dict, PAYLOAD),
        (dict[str, float], PAYLOAD),
        (SaleClass, SaleClass(item=42)),
        (SaleDict, PAYLOAD),
        (SaleStruct, SaleStruct(item=42)),
        (SaleModel, SaleModel(item=42)),
        (SalePydanticClass, SalePydanticClass(item=42)),
        ("SaleClass", SaleClass(item=42)),
        (SaleClass | None, SaleClass(item=42)),
    ],
)
def test_the_payload_comes_as_the_type_that_is_asked_for(
    editor: Editor, worker: Worker, annotation: Any, payload: Any
) -> None:
    got = register(worker, annotation)
    editor.add("act", due=editor._clock(), payload=PAYLOAD)
    assert worker.run().done == 1
    assert got == [payload]
    assert type(got[0]) is type(payload)


def test_plain_json_comes_unchanged_to_the_last_digit(editor: Editor, worker: Worker) -> None:
    payload = {
        "big": 2**70,
        "float": 0.1 + 0.2,
        "text": "Grüße \U0001f514",
        "no": None,
        "deep": [{"a": []}],
    }
    got = register(worker, Any)
    editor.add("act", due=editor._clock(), payload=payload)
    worker.run()
    assert got == [payload]
    assert type(got[0]["big"]) is int


@pytest.mark.parametrize("payload", [{"item": "forty-two", "price": "y"}, {"price": 1.5}, [1]])
@pytest.mark.parametrize(
    "annotation",
    [SaleClass, SaleDict, SaleStruct, SaleModel, SalePydanticClass, "SaleClass", SaleClass | None],
)
def test_a_payload_that_does_not_fit_fails_at_once_and_the_field_is_named(
    editor: Editor, worker: Worker, annotation: Any, payload: Any
) -> None:
    # Given a task whose payload does not fit, and attempts to come
    got = register(worker, annotation)
    editor.add("act", due=editor._clock(), payload=payload, id="misfit")
    # When it is run
    report = worker.run()
    # Then the action was not called, and the task has failed for good and says where
    assert (report.failed, report.retried, got) == (1, 0, [])
    task = editor.get("misfit")
    assert (task.status, task.attempt) == (Status.FAILED, 1)
    failure = cast("Failure", task.failure)
    assert (failure.type, failure.traceback) == ("InvalidPayload", "")
    assert ("item" if isinstance(payload, dict) else "object") in failure.message


def test_every_fault_of_a_pydantic_payload_is_named(editor: Editor, worker: Worker) -> None:
    register(worker, SaleModel)
    editor.add("act", due=editor._clock(), payload={"item": "x", "price": "y"}, id="misfit")
    worker.run()
    message = cast("Failure", editor.get("misfit").failure).message
    assert message.startswith("item: ")
    assert "; price: " in message


@pytest.mark.parametrize("payload", ["{not json", "[" * 100_000])
@pytest.mark.parametrize("annotation", [Any, SaleStruct, SaleModel])
def test_a_payload_that_is_no_json_fails_at_once(
    editor: Editor, worker: Worker, backend: Backend, annotation: Any, payload: str
) -> None:
    # Given a task whose payload someone edited in the table, badly
    got = register(worker, annotation)
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
    with pytest.raises(TypeError, match="action 'act': a payload cannot be "):
        register(worker, unsupported)


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
    got = register(worker, type(value))
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

    says = "^payload: would reach the action with other values: a field is secret or excluded$"
    with pytest.raises(InvalidTask, match=says):
        sign.using(due=timedelta(0)).add(value)
    assert sign.checked(Signed()) == Signed()


class Colour(Enum):
    RED = "red"


def test_a_wrong_value_of_an_enum_is_not_repeated(editor: Editor, worker: Worker) -> None:
    register(worker, dict[str, Colour])
    editor.add("act", due=editor._clock(), payload={"wall": "hunter2 - at `$.x"}, id="misfit")
    worker.run()
    failure = cast("Failure", editor.get("misfit").failure)
    assert failure.message == "not one of the values allowed - at `payload[...]`"
