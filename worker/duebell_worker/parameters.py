"""The parameters of an action's function, and the arguments that a task gives them."""

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import msgspec

from duebell_shared.task import Task

from .payload_type import Decode, decoder

__all__ = ["Parameters"]

_MOST_POSITIONAL = 2  # the payload and the task


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of a function that handles tasks.

    Positional ones are given the payload, then the task; or the task alone, if that is its type. Without a
    parameter for the payload, the keyword-only ones are given the fields of the payload.

    takes_payload  has a parameter for the whole payload
    takes_task     has a parameter for the task
    fields         the keyword-only ones that are given the payload's fields
    """

    takes_payload: bool
    takes_task: bool
    fields: inspect.Signature
    decode: Decode

    @classmethod
    def of(cls, name: str, function: Callable[..., Any], *, reserved: frozenset[str]) -> Self:
        """The parameters of the function of the action `name`. Raises TypeError if they cannot be filled.

        `reserved` are the names that no field can have.
        """
        given = inspect.signature(function).parameters.values()
        positional = [one for one in given if one.kind in {one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD}]
        keyword_only = [one for one in given if one.kind is one.KEYWORD_ONLY]
        types = _annotations(name, function) if positional or keyword_only else {}
        if len(positional) > _MOST_POSITIONAL:
            raise TypeError(
                f"action {name!r}: {function.__qualname__} takes {len(positional)} arguments, "
                f"and an action gets two, the payload and the task"
            )
        takes_task_first = bool(positional) and types.get(positional[0].name) is Task
        if takes_task_first and len(positional) == _MOST_POSITIONAL:
            raise TypeError(
                f"action {name!r}: the first argument of {function.__qualname__} is given the payload, "
                f"the task is the second: def {function.__name__}(payload, task: Task)"
            )
        takes_payload = bool(positional) and not takes_task_first
        if takes_payload:
            _check_filled(name, function, keyword_only)
            decode, keyword_only = decoder(name, types.get(positional[0].name, Any)), []
        else:
            _check_names(name, function, keyword_only, types, reserved)
            decode = _fields_decoder(name, keyword_only, types)
        return cls(
            takes_payload=takes_payload,
            takes_task=takes_task_first or len(positional) == _MOST_POSITIONAL,
            fields=inspect.Signature(keyword_only),
            decode=decode,
        )

    def call(self, function: Callable[..., Any], task: Task) -> Any:
        """Call the function for this task. Raises InvalidPayload, and what the function raises."""
        payload = self.decode(task.payload_json)
        positional = [*([payload] if self.takes_payload else []), *([task] if self.takes_task else [])]
        return function(*positional, **({} if self.takes_payload else payload))


def _annotations(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise TypeError(
            f"action {name!r}: an annotation of {function.__qualname__} cannot be resolved ({error}); "
            f"define or import the type at the module's top level"
        ) from error


def _check_filled(name: str, function: Callable[..., Any], keyword_only: list[inspect.Parameter]) -> None:
    if unfilled := [one.name for one in keyword_only if one.default is one.empty]:
        raise TypeError(
            f"action {name!r}: nothing fills the argument {unfilled[0]!r} of {function.__qualname__}: either "
            f"take the whole payload, or its fields by keyword"
        )


def _check_names(
    name: str,
    function: Callable[..., Any],
    keyword_only: list[inspect.Parameter],
    types: Mapping[str, Any],
    reserved: frozenset[str],
) -> None:
    if [one for one in keyword_only if types.get(one.name) is Task]:
        raise TypeError(
            f"action {name!r}: {function.__qualname__} takes the task by keyword, "
            f"and gets it by position: def {function.__name__}(task: Task, *, …)"
        )
    if taken := [one.name for one in keyword_only if one.name in reserved]:
        raise TypeError(
            f"action {name!r}: the argument {taken[0]!r} of {function.__qualname__} has the name of an "
            f"argument of `add`: call it something else, or take a payload that has it as a field"
        )


def _fields_decoder(name: str, fields: list[inspect.Parameter], types: Mapping[str, Any]) -> Decode:
    """Reads the fields of a payload, as arguments; fields without a default must be there, and no others."""
    struct = msgspec.defstruct(
        "Arguments",
        [
            (one.name, types.get(one.name, Any), *([] if one.default is one.empty else [msgspec.UNSET]))
            for one in fields
        ],
        kw_only=True,
        forbid_unknown_fields=True,
    )
    decode = decoder(name, struct if fields else Any)  # a function without parameters takes any payload

    def arguments(text: str) -> dict[str, Any]:
        values = decode(text)
        given = ((one.name, getattr(values, one.name)) for one in fields)
        return {field: value for field, value in given if value is not msgspec.UNSET}

    return arguments
