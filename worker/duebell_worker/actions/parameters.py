"""The parameters of an action's function, and the arguments that a task gives them."""

import inspect
import re
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import msgspec

from duebell_shared.payloads import payload as payloads
from duebell_shared.tasks.task import Task

#: Reads a payload's JSON text. Raises InvalidPayload.
Decode = Callable[[str], Any]


class InvalidPayload(Exception):
    """The payload does not fit the type that the action asks for; the message names the field."""


def decoder(name: str, payload_type: Any) -> Decode:
    """The reader of payloads of this type. Raises TypeError if no JSON can be read as it."""
    if may_convert(payload_type):
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
        msgspec.json.schema(payload_type, schema_hook=_refuse)
        return msgspec.json.Decoder(payload_type).decode
    except TypeError as error:
        raise TypeError(f"action {name!r}: a payload cannot be {payload_type}: {error}") from error


def _refuse(inner_type: type) -> dict[str, Any]:
    raise TypeError(f"no JSON can be read as {inner_type}; a pydantic type can be within pydantic types only")


def _pydantic_decoder(payload_type: Any) -> Decode:
    import pydantic  # noqa: PLC0415 (the user's own dependency: a cold start does not load it for nothing)

    validate = pydantic.TypeAdapter(payload_type).validate_json

    def decode(text: str) -> Any:
        try:
            return validate(text)
        except pydantic.ValidationError as error:
            faults = error.errors(include_url=False, include_input=False)
            raise InvalidPayload("; ".join(map(_told, faults))) from error

    return decode


def _told(fault: Mapping[str, Any]) -> str:
    """The fault that pydantic found, after its place in the payload, as in `items[2].price: must be even`."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in fault["loc"])
    return f"{''.join(steps).removeprefix('.')}: {fault['msg']}".removeprefix(": ")


def may_convert(payload_type: Any) -> bool:
    """Tell whether the type is pydantic's, which takes `"42"` for an integer; validators take more."""
    return hasattr(payload_type, "__pydantic_validator__")


def schema_of(payload_type: Any) -> dict[str, Any]:
    """The JSON Schema of payloads of this type; what a schema cannot express is allowed."""
    if may_convert(payload_type):
        import pydantic  # noqa: PLC0415

        schema = pydantic.TypeAdapter(payload_type).json_schema()
    else:
        schema = msgspec.json.schema(Any if payload_type is object else payload_type)
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


def _with_decimals_as_numbers(schema: Any) -> Any:
    """The schema with decimals as texts or numbers: msgspec reads both, but names only texts."""
    if isinstance(schema, list):
        return [_with_decimals_as_numbers(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {name: _with_decimals_as_numbers(value) for name, value in schema.items()}
    is_decimal = schema.get("type") == "string" and schema.get("format") == "decimal"
    return {**changed, "type": ["string", "number"]} if is_decimal else changed


class Parameters(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of a function that handles tasks.

    Positional ones are given the payload, then the task; or the task alone, if that is its type. Without a
    parameter for the payload, the keyword-only ones are given the fields of the payload.

    takes_payload  has a parameter for the whole payload
    takes_task     has a parameter for the task
    fields         the keyword-only parameters that are given the payload's fields
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
        has_others = len(positional) + len(keyword_only) < len(given)
        if has_others or not _can_be_called(function, positional, keyword_only, types):
            signature = f"{function.__qualname__}{inspect.signature(function)}"
            raise TypeError(f"action {name!r}: {signature} cannot be called for a task: {_FORMS}")
        takes_task_first = bool(positional) and types.get(positional[0].name) is Task
        takes_payload = bool(positional) and not takes_task_first
        if takes_payload:
            payload_type, keyword_only = types.get(positional[0].name, Any), []
            decode = decoder(name, payload_type)
        else:
            payload_type = _fields_type(keyword_only, types) if keyword_only else None
            decode = _fields_decoder(name, keyword_only, payload_type)
        return cls(
            takes_payload=takes_payload,
            takes_task=takes_task_first or len(positional) > 1,
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


#: The functions that can be an action.
_FORMS = (
    "an action takes (payload), (payload, task: Task), (task: Task) or nothing, and without the payload its "
    "fields by keyword, as in (task: Task, *, item: int). It has no `yield`, no *args and no **kwargs, and a "
    "method is registered by its object: worker.action('act')(service.act)"
)


def _can_be_called(
    function: Callable[..., Any],
    positional: Sequence[inspect.Parameter],
    keyword_only: Sequence[inspect.Parameter],
    types: Mapping[str, Any],
) -> bool:
    """Tell whether a task can fill the arguments of this function, and a call of it does something."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return False
    if not positional or types.get(positional[0].name) is Task:
        return not positional[1:] and not any(types.get(one.name) is Task for one in keyword_only)
    is_method = positional[0].name in {"self", "cls"}
    is_filled = all(one.default is not one.empty for one in keyword_only)
    takes_task_second = not positional[2:] and all(_is_for_task(one, types) for one in positional[1:])
    return is_filled and not is_method and takes_task_second


def _is_for_task(parameter: inspect.Parameter, types: Mapping[str, Any]) -> bool:
    kind = types.get(parameter.name, Any)
    can_be = kind in {Any, object} or Task in {kind, *typing.get_args(kind)}
    return can_be and (parameter.default is None or parameter.default is parameter.empty)


def _fields_type(fields: list[inspect.Parameter], types: Mapping[str, Any]) -> type[msgspec.Struct]:
    """An object with these fields. Fields without a default are required, and other fields are refused."""
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
