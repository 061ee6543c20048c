"""The forms of request that duebell makes of DynamoDB; any other is refused, so that a new one is noticed."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from .expressions import Names, Values
from .refused import invalid

__all__ = ["check_references", "check_request"]

_REFERENCE = re.compile(r"[#:]\w+")

_EXPRESSIONS = {"ExpressionAttributeNames", "ExpressionAttributeValues"}
_CAPACITY = {"ReturnConsumedCapacity"}

#: The members of each request that are understood.
_MEMBERS = {
    "GetItem": {"TableName", "Key", "ConsistentRead"} | _CAPACITY,
    "PutItem": {"TableName", "Item", "ConditionExpression"} | _EXPRESSIONS | _CAPACITY,
    "UpdateItem": {"TableName", "Key", "UpdateExpression", "ConditionExpression", "ReturnValues"}
    | _EXPRESSIONS,
    "Query": {
        "TableName",
        "IndexName",
        "KeyConditionExpression",
        "FilterExpression",
        "ConsistentRead",
        "ExclusiveStartKey",
        "Limit",
        "Select",
    }
    | _EXPRESSIONS
    | _CAPACITY,
    "BatchGetItem": {"RequestItems"} | _CAPACITY,
    "BatchExecuteStatement": {"Statements"},
}

#: What those members may be that choose among a few ways.
_CHOICES = {
    "IndexName": {"due-index"},
    "ReturnConsumedCapacity": {"TOTAL"},
    "ReturnValues": {"ALL_NEW", "NONE"},
    "Select": {"COUNT"},
}

_READS = {"GetItem", "Query"}


def check_request(operation: str, request: Mapping[str, Any]) -> None:
    """Refuse what is not understood, and a read that might not see what was just written. Raises Refused."""
    if odd := request.keys() - _MEMBERS[operation]:
        raise invalid(f"{operation} with {', '.join(sorted(odd))} is not understood")
    for member, choices in _CHOICES.items():
        if request.get(member) not in {None, *choices}:
            raise invalid(f"{operation} with {member} {request[member]!r} is not understood")
    asked = [request] if operation in _READS else request.get("RequestItems", {}).values()
    for each in asked:
        if each.get("ConsistentRead") is not True:
            raise invalid(f"{operation} is not consistent, and no read of duebell may be so")
    for each in request.get("RequestItems", {}).values():
        if each.keys() != {"Keys", "ConsistentRead"}:
            raise invalid(f"{operation} with {', '.join(each)} is not understood")
    if (limit := request.get("Limit", 1)) < 1:
        raise invalid(f"Limit {limit} is below 1")


def check_references(request: Mapping[str, Any], *expressions: str) -> tuple[Names, Values]:
    """The names and values that these expressions refer to: exactly those are given. Raises Refused."""
    names: Names = request.get("ExpressionAttributeNames", {})
    values: Values = request.get("ExpressionAttributeValues", {})
    used = frozenset[str]().union(*(_references(request.get(each, "")) for each in expressions))
    if used != names.keys() | values.keys():
        odd = used ^ (names.keys() | values.keys())
        raise invalid(f"{', '.join(sorted(odd))} is given and not used, or used and not given")
    return names, values


@lru_cache(1000)
def _references(expression: str) -> frozenset[str]:
    return frozenset(_REFERENCE.findall(expression))
