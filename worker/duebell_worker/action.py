"""An action: the named function that handles a task, and how its payload becomes the type it asks for."""

import asyncio
import inspect
import re
import typing
from collections.abc import Callable
from typing import Any, Self

import msgspec

from duebell_shared import payload as payloads
from duebell_shared.given import check_name
from duebell_shared.reserved import VERIFY
from duebell_shared.task import Task

__all__ = ["BUILT_IN", "Action", "InvalidPayload"]

_MOST_ARGUMENTS = 2  # the payload and the task


class InvalidPayload(Exception):
    """The payload does not fit the type that the action asks for; the message names the field."""


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """A function that handles tasks: called with the payload and the task, or the first, or nothing."""

    name: str
    function: Callable[..., Any]
    attempts: int
    arguments: int
    decode: Callable[[str], Any]

    @classmethod
    def of(cls, name: str, function: Callable[..., Any], *, attempts: int) -> Self:
        """The action that `function` is. Raises TypeError or ValueError if it cannot be one, saying why.

        The annotation of its first parameter is the payload's type: nothing, Any or dict for plain JSON, or
        a dataclass, TypedDict, msgspec or pydantic type.
        """
        check_name("action", name)
        if attempts < 1:
            raise ValueError(f"action {name!r}: attempts must be 1 or more, not {attempts}")
        parameters = [
            parameter
            for parameter in inspect.signature(function).parameters.values()
            if parameter.kind in {parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD}
        ]
        if len(parameters) > _MOST_ARGUMENTS:
            raise TypeError(
                f"action {name!r}: {function.__qualname__} takes {len(parameters)} arguments, "
                f"and an action gets two, the payload and the task"
            )
        annotations = _annotations(name, function) if parameters else {}
        payload_type = annotations.get(parameters[0].name, Any) if parameters else Any
        if payload_type is Task:
            raise TypeError(
                f"action {name!r}: the first argument of {function.__qualname__} is given the payload, "
                f"the task is the second: def {function.__name__}(payload, task: Task)"
            )
        return cls(
            name=name,
            function=function,
            attempts=attempts,
            arguments=len(parameters),
            decode=_decoder(name, payload_type),
        )

    def is_last_attempt(self, claimed: Task) -> bool:
        """Whether this claim is for the last attempt, or beyond it because that was never begun."""
        return claimed.attempt >= self.attempts and (claimed.begun or 0) < self.attempts

    def is_used_up(self, task: Task) -> bool:
        """Whether the last attempt was begun before this claim: the process died during it."""
        return task.attempt > self.attempts and (task.begun or 0) >= self.attempts

    def __call__(self, task: Task) -> None:
        """Handle the task. Raises InvalidPayload, and whatever the function raises."""
        payload = self.decode(task.payload_json)
        result = self.function(*(payload, task)[: self.arguments])
        if inspect.iscoroutine(result):
            asyncio.run(result)


def _annotations(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise TypeError(
            f"action {name!r}: an annotation of {function.__qualname__} cannot be resolved ({error}); "
            f"define or import the type at the module's top level"
        ) from error


def _decoder(name: str, payload_type: Any) -> Callable[[str], Any]:
    """What turns JSON text into this type, or raises InvalidPayload."""
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


def _without_value(said: str) -> str:
    """What msgspec said, for a log that is to hold nothing of a payload: it repeats an enum's wrong value."""
    what, at, place = said.rpartition(" - at `$")
    if at and re.match(r"Invalid (enum )?value ", what):
        said = f"not one of the values allowed{at}{place}"
    elif re.match(r"Invalid (enum )?value ", said):
        said = "not one of the values allowed"
    return said.replace("`$.", "`payload.").replace("`$", "`payload")


def _msgspec_decoder(name: str, payload_type: Any) -> Callable[[str], Any]:
    try:
        decode: Callable[[str], Any] = msgspec.json.Decoder(payload_type, dec_hook=_decode_inner).decode
        is_data = not isinstance(msgspec.inspect.type_info(payload_type), msgspec.inspect.CustomType)
    except TypeError as error:
        raise TypeError(f"action {name!r}: a payload cannot be {payload_type}: {error}") from error
    if not is_data:
        raise TypeError(f"action {name!r}: a payload cannot be {payload_type}: no JSON can be read as that")
    return decode


def _decode_inner(inner_type: Any, value: Any) -> Any:
    """A pydantic value within a payload of another kind. Raises ValueError: msgspec adds the place."""
    validate = getattr(inner_type, "model_validate", None)
    if validate is None:
        raise ValueError(f"no JSON can be read as {inner_type}")
    try:
        return validate(value)
    except ValueError as error:  # pydantic's is of this kind
        raise ValueError(_faults(error, ())) from error


def _pydantic_decoder(payload_type: Any) -> Callable[[str], Any]:
    import pydantic  # noqa: PLC0415 (the user's own dependency: ours is not to load it)

    validate = pydantic.TypeAdapter(payload_type).validate_json

    def decode(text: str) -> Any:
        try:
            return validate(text)
        except pydantic.ValidationError as error:
            raise InvalidPayload(_faults(error, ("payload",))) from error

    return decode


def _faults(error: Any, place: tuple[str, ...]) -> str:
    """What pydantic found, each with its place in the payload."""
    faults = error.errors(include_url=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, (*place, *fault['loc'])))}: {fault['msg']}" for fault in faults)


def _succeed() -> None:
    """Do nothing: that the task came here is all that is asked."""


#: The actions that every worker has.
BUILT_IN = {VERIFY: Action.of(VERIFY, _succeed, attempts=5)}
