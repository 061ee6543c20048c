"""The parameters of an action's function, and the arguments that a task gives them."""

import inspect
import re
import typing
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import date, datetime, time
from typing import Any, Self

import msgspec

from duebell_shared.payloads import payload as payloads
from duebell_shared.tasks.task import Task

#: Reads a payload's JSON text. Raises InvalidPayload.
Decode = Callable[[str], Any]


class InvalidPayload(Exception):
    """The payload does not fit the type that the action asks for; the message names the field.

    places  the places of all faults, such as `.items[2].price`, if the type tells them
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
    of_value = r"(?s)^Invalid (?:enum )?value .*?( - at `\$[^`]*`)?$"
    message = re.sub(of_value, r"not one of the values allowed\1", message)
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


_MOST_POSITIONAL = 2  # the payload and the task


class Parameters(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of a function that handles tasks.

    Positional ones are given the payload, then the task; or the task alone, if that is its type. Without a
    parameter for the payload, the keyword-only ones are given the fields of the payload.

    takes_payload  has a parameter for the whole payload
    takes_task     has a parameter for the task
    fields         the keyword-only ones that are given the payload's fields
    payload_type   the type of the payload, or of an object with those fields; None if any payload is ignored
    decode         reads a payload
    """

    takes_payload: bool
    takes_task: bool
    fields: inspect.Signature
    payload_type: Any
    decode: Decode

    @classmethod
    def of(cls, name: str, function: Callable[..., Any]) -> Self:
        """The parameters of the function of the action `name`. Raises TypeError if they cannot be filled."""
        given = inspect.signature(function).parameters.values()
        positional = [one for one in given if one.kind in {one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD}]
        keyword_only = [one for one in given if one.kind is one.KEYWORD_ONLY]
        types = _annotations(name, function) if given else {}
        takes_task_first = bool(positional) and types.get(positional[0].name) is Task
        fault = _fault_of_call(name, function) or _fault_of_arguments(
            function, positional, keyword_only, types
        )
        if fault:
            raise TypeError(f"action {name!r}: {function.__qualname__} {fault}")
        takes_payload = bool(positional) and not takes_task_first
        if takes_payload:
            payload_type, keyword_only = types.get(positional[0].name, Any), []
            decode = decoder(name, payload_type)
        else:
            payload_type = _fields_type(keyword_only, types) if keyword_only else None
            decode = _fields_decoder(name, keyword_only, payload_type)
        return cls(
            takes_payload=takes_payload,
            takes_task=takes_task_first or len(positional) == _MOST_POSITIONAL,
            fields=inspect.Signature(keyword_only),
            payload_type=payload_type,
            decode=decode,
        )

    def call(self, function: Callable[..., Any], task: Task) -> Any:
        """Call the function for this task. Raises InvalidPayload, and what the function raises."""
        payload = self.decode(task.payload_json)
        positional = [*([payload] if self.takes_payload else []), *([task] if self.takes_task else [])]
        return function(*positional, **({} if self.takes_payload else payload))

    def schema(self) -> dict[str, Any] | None:
        """The JSON Schema of the payload; None if any payload is ignored."""
        if self.payload_type is None:
            return None
        schema = schema_of(self.payload_type)
        for one in self.fields.parameters.values():
            if one.default is None or isinstance(one.default, str | bool | int | float):
                schema["properties"][one.name]["default"] = one.default
        return schema


def _annotations(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise TypeError(
            f"action {name!r}: an annotation of {function.__qualname__} cannot be resolved ({error}); "
            f"define or import the type at the module's top level"
        ) from error


def _fault_of_call(name: str, function: Callable[..., Any]) -> str | None:
    """Returns why a call of this function does nothing, or lacks an argument; None if it is fine."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return (
            "has a `yield`, so a call of it does nothing: return instead, or call it in a function that uses "
            "what it yields"
        )
    parameters = inspect.signature(function).parameters
    for one in parameters.values():
        if one.kind in {one.VAR_POSITIONAL, one.VAR_KEYWORD}:
            return (
                f"takes {one}, and a task fills named arguments only: name them; if a decorator takes {one}, "
                f"let it use functools.wraps"
            )
    if next(iter(parameters), "") in {"self", "cls"}:
        return (
            f"is a method, and nothing fills its first argument: register a function, or a method of an "
            f"object, worker.action({name!r})(service.{name})"
        )
    return None


def _fault_of_arguments(
    function: Callable[..., Any],
    positional: list[inspect.Parameter],
    keyword_only: list[inspect.Parameter],
    types: Mapping[str, Any],
) -> str | None:
    """Returns why a task cannot fill the arguments of this function; None if it can."""
    if len(positional) > _MOST_POSITIONAL:
        return f"takes {len(positional)} arguments, and an action gets two, the payload and the task"
    takes_task_first = bool(positional) and types.get(positional[0].name) is Task
    if positional[1:]:
        if takes_task_first:
            return f"takes the task before the payload: def {function.__name__}(payload, task: Task)"
        second = positional[1]
        kind = types.get(second.name, Any)
        is_for_task = kind in {Task, Any, object} or Task in typing.get_args(kind)
        has_value = second.default is not second.empty and second.default is not None
        if not is_for_task or (has_value and kind is not Task):
            return (
                f"is given the task as its second argument, {second.name!r}: write {second.name}: Task, or "
                f"take the payload's fields by keyword: def {function.__name__}(*, …, {second.name})"
            )
    if not positional or takes_task_first:
        if any(types.get(one.name) is Task for one in keyword_only):
            return (
                f"takes the task by keyword, gets it by position: def {function.__name__}(task: Task, *, …)"
            )
    elif unfilled := [one.name for one in keyword_only if one.default is one.empty]:
        return (
            f"takes {unfilled[0]!r}, which nothing fills: either take the whole payload, or its fields by "
            f"keyword"
        )
    return None


def _fields_type(fields: list[inspect.Parameter], types: Mapping[str, Any]) -> type[msgspec.Struct]:
    """An object with these fields: those without a default must be there, and no others."""
    return msgspec.defstruct(
        "Arguments",
        [
            (one.name, types.get(one.name, Any), *([] if one.default is one.empty else [msgspec.UNSET]))
            for one in fields
        ],
        kw_only=True,
        forbid_unknown_fields=True,
    )


def _fields_decoder(
    name: str, fields: list[inspect.Parameter], payload_type: type[msgspec.Struct] | None
) -> Decode:
    """Reads the fields of a payload, as arguments."""
    decode = decoder(name, payload_type or Any)  # a function without parameters takes any payload

    def arguments(text: str) -> dict[str, Any]:
        values = decode(text)
        given = ((one.name, getattr(values, one.name)) for one in fields)
        return {field: value for field, value in given if value is not msgspec.UNSET}

    return arguments
