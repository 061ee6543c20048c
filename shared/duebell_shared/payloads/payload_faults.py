"""The faults of a payload by the schema of its action, in the same words for handles and for editors."""

from collections.abc import Collection, Mapping
from inspect import Parameter
from typing import Any

from duebell_shared.errors import InvalidTask
from duebell_shared.quoting import quoted

from . import payload as payloads
from .json_schema import Fault, find_fault, find_ignored

__all__ = ["ignored_field", "misfit", "wrong_names"]


def misfit(payload_json: str, schema: Mapping[str, Any], action: str) -> InvalidTask | None:
    """The error for a payload that does not fit; None for one that does, as far as the schema tells."""
    return _error(find_fault(payloads.decode_or_text(payload_json), schema), action)


def ignored_field(
    payload: object, payload_json: str, schema: Mapping[str, Any], action: str
) -> InvalidTask | None:
    """The error for a payload that fits, but has a field that its type leaves out; None if it has none.

    Only names that were written by hand can be misspelt. A typed value has the right ones, and a pydantic
    model writes more than it reads: its computed fields.
    """
    if not isinstance(payload, dict | list):
        return None
    return _error(find_ignored(payloads.decode_or_text(payload_json), schema), action)


def wrong_names(given: Mapping[str, object], parameters: Collection[Parameter]) -> Fault | None:
    """The fault of arguments of which one is missing or unknown; None if each parameter has its own."""
    schema = {
        "required": [one.name for one in parameters if one.default is one.empty],
        "properties": {one.name: True for one in parameters},
        "additionalProperties": False,
    }
    return find_fault(given, schema)


def _error(fault: Fault | None, action: str) -> InvalidTask | None:
    if fault is None:
        return None
    return InvalidTask(f"payload{fault.place}", f"{fault.reason}, for the action {quoted(action)}")
