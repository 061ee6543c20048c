"""The forms of request that duebell makes of DynamoDB; any other is refused, so that a new one is noticed."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from .expressions import Names, Values
from .refused import invalid

_REFERENCE = re.compile(r"[#:]\w+")

_EXPRESSIONS = {"ExpressionAttributeNames", "ExpressionAttributeValues"}
_CAPACITY = {"ReturnConsumedCapacity"}
_SIZE = {"ReturnItemCollectionMetrics"}

#: The indexes, each by what it sorts by. That of the past is global, and cannot be read consistently.
INDEXES = {"due-index": "queued", "past-index": "past"}
_GLOBAL = "past-index"

#: The members of each request that are understood.
_MEMBERS = {
    "GetItem": {"TableName", "Key", "ConsistentRead"} | _CAPACITY,
    "PutItem": {"TableName", "Item", "ConditionExpression"} | _EXPRESSIONS | _CAPACITY | _SIZE,
    "UpdateItem": {"TableName", "Key", "UpdateExpression", "ConditionExpression", "ReturnValues"}
    | _EXPRESSIONS
    | _SIZE,
    "DeleteItem": {"TableName", "Key", "ConditionExpression"} | _EXPRESSIONS | _SIZE,
    "Query": {
        "TableName",
        "IndexName",
        "KeyConditionExpression",
        "ScanIndexForward",
        "ConsistentRead",
        "ExclusiveStartKey",
        "Limit",
        "Select",
    }
    | _EXPRESSIONS
    | _CAPACITY,
    "BatchGetItem": {"RequestItems"} | _CAPACITY,
    "BatchExecuteStatement": {"Statements"},
    "TransactWriteItems": {"TransactItems", "ClientRequestToken"},
}

#: What those members may be that choose among a few ways.
_CHOICES = {
    "IndexName": set(INDEXES),
    "ReturnConsumedCapacity": {"TOTAL"},
    "ReturnItemCollectionMetrics": {"SIZE"},
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
    if operation == "Query" and "IndexName" not in request and "Limit" not in request:
        raise invalid("Query without an index reads a lane through, and duebell may not do so")
    asked = [request] if operation in _READS else request.get("RequestItems", {}).values()
    for each in asked:
        _check_consistency(operation, each)
    for each in request.get("RequestItems", {}).values():
        if each.keys() != {"Keys", "ConsistentRead"}:
            raise invalid(f"{operation} with {', '.join(each)} is not understood")
    if (limit := request.get("Limit", 1)) < 1:
        raise invalid(f"Limit {limit} is below 1")


def _check_consistency(operation: str, read: Mapping[str, Any]) -> None:
    if read.get("IndexName") == _GLOBAL and read.get("ConsistentRead"):
        raise invalid("Consistent reads are not supported on global secondary indexes")
    is_of_the_worker = read.get("Key", {}).get("lane") == {"S": "worker"}
    if read.get("IndexName") != _GLOBAL and read.get("ConsistentRead") is not True and not is_of_the_worker:
        raise invalid(f"{operation} is not consistent, and no read of what waits may be so")


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
