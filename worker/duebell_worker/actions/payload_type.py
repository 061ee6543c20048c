"""Typed payloads: JSON text read as the dataclass, TypedDict, msgspec or pydantic type of a parameter."""

import re
from collections.abc import Callable, Collection, Iterable
from datetime import date, datetime, time
from typing import Any

import msgspec

from duebell_shared.payloads import payload as payloads

__all__ = ["Decode", "InvalidPayload", "decoder", "may_convert", "schema_of"]

#: Reads a payload's JSON text. Raises InvalidPayload.
Decode = Callable[[str], Any]


class InvalidPayload(Exception):
    """The payload does not fit the type that the action asks for; the message names the field.

    places  those of all faults, such as `.items[2].price`, where the type tells them
    """

    def __init__(self, message: str, places: Collection[str] = ()) -> None:
        super().__init__(message)
        self.places = places


def decoder(name: str, payload_type: Any) -> Decode:
    """The reader of payloads of this type. Raises TypeError if no JSON can be read as it."""
    if hasattr(payload_type, "__pydantic_validator__"):
        return _pydantic_decoder(payload_type)
    decode = payloads.decode if payload_type in {Any, object} else _msgspec_decoder(name, payload_type)

    def decode_checked(text: str) -> Any:
        try:
            return decode(text)
        except ValueError as error:  # msgspec's and json's own errors are of this kind
            raise InvalidPayload(_without_value(str(error))) from error
        except RecursionError as error:
            raise InvalidPayload("payload: is nested too deeply to be read") from error

    return decode_checked


def _without_value(message: str) -> str:
    """msgspec's message without the value of an enum, which it repeats: payloads are not logged."""
    what, at, place = message.rpartition(" - at `$")
    if at and re.match(r"Invalid (enum )?value ", what):
        message = f"not one of the values allowed{at}{place}"
    elif re.match(r"Invalid (enum )?value ", message):
        message = "not one of the values allowed"
    return message.replace("`$.", "`payload.").replace("`$", "`payload")


def _msgspec_decoder(name: str, payload_type: Any) -> Decode:
    try:
        decode: Decode = msgspec.json.Decoder(payload_type, dec_hook=_decode_inner).decode
        is_data = not isinstance(msgspec.inspect.type_info(payload_type), msgspec.inspect.CustomType)
    except TypeError as error:
        raise TypeError(f"action {name!r}: a payload cannot be {payload_type}: {error}") from error
    if not is_data:
        raise TypeError(f"action {name!r}: a payload cannot be {payload_type}: no JSON can be read as that")
    return decode


def _decode_inner(inner_type: Any, value: Any) -> Any:
    """A value of a type that msgspec does not know. Raises ValueError: msgspec adds the place.

    It knows no pydantic models, and no subclasses of datetime, such as pendulum's and freezegun's.
    """
    if isinstance(inner_type, type) and issubclass(inner_type, date | time):
        return inner_type.fromisoformat(str(value))
    validate = getattr(inner_type, "model_validate", None)
    if validate is None:
        raise ValueError(f"no JSON can be read as {inner_type}")
    try:
        return validate(value)
    except ValueError as error:  # pydantic's is of this kind
        raise ValueError(_faults(error)) from error


def _pydantic_decoder(payload_type: Any) -> Decode:
    import pydantic  # noqa: PLC0415 (the user's own dependency: a cold start does not load it for nothing)

    validate = pydantic.TypeAdapter(payload_type).validate_json

    def decode(text: str) -> Any:
        try:
            return validate(text)
        except pydantic.ValidationError as error:
            places = [_place(fault["loc"]) for fault in error.errors(include_url=False, include_input=False)]
            raise InvalidPayload(_faults(error, "payload"), places) from error

    return decode


def _faults(error: Any, root: str = "") -> str:
    """The faults that pydantic found, each with its place in the payload."""
    faults = error.errors(include_url=False, include_input=False)
    told = (f"{root}{_place(fault['loc'])}: {fault['msg']}" for fault in faults)
    return "; ".join(each.removeprefix(".") for each in told)


def _place(steps: Iterable[str | int]) -> str:
    """A place as messages name it: `.items[2].price`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)


def may_convert(payload_type: Any) -> bool:
    """Tell whether it is pydantic's: it takes `"42"` for an integer, and validators take more."""
    return hasattr(payload_type, "__pydantic_validator__")


def schema_of(payload_type: Any) -> dict[str, Any]:
    """The JSON Schema of the payloads that the decoder of this type reads; it allows what it cannot tell."""
    if may_convert(payload_type):
        import pydantic  # noqa: PLC0415

        schema = pydantic.TypeAdapter(payload_type).json_schema()
    else:
        schema = msgspec.json.schema(
            Any if payload_type is object else payload_type, schema_hook=_inner_schema
        )
    fitting: dict[str, Any] = _with_decimals_as_numbers(_without_reference(schema))
    return fitting


def _without_reference(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with a reference at its top replaced by the definition that it means."""
    reference = schema.get("$ref")
    if reference is None:
        return schema
    definitions = dict(schema["$defs"])
    name = reference.removeprefix("#/$defs/")
    top = definitions[name]
    if reference not in str(definitions):  # it does not contain itself
        del definitions[name]
    return {**top, "$defs": definitions} if definitions else top


def _inner_schema(inner_type: Any) -> dict[str, Any]:
    """The schema of a type that msgspec does not know; see `_decode_inner`."""
    for base, format in ((datetime, "date-time"), (date, "date"), (time, "time")):
        if isinstance(inner_type, type) and issubclass(inner_type, base):
            return {"type": "string", "format": format}
    return {"title": getattr(inner_type, "__name__", "value")}


def _with_decimals_as_numbers(schema: Any) -> Any:
    """The schema with decimals as texts or numbers: msgspec reads them from both, and tells of texts only."""
    if isinstance(schema, list):
        return [_with_decimals_as_numbers(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {name: _with_decimals_as_numbers(value) for name, value in schema.items()}
    is_decimal = schema.get("type") == "string" and schema.get("format") == "decimal"
    return {**changed, "type": ["string", "number"]} if is_decimal else changed
