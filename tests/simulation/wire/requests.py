"""Requests that DynamoDB refuses, and requests that duebell must not make."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from .expressions import Names, Values
from .refused import invalid

_REFERENCE = re.compile(r"[#:]\w+")

#: The indexes, each by what it sorts by. That of the past is global, and cannot be read consistently.
INDEXES = {"due-index": "queued", "past-index": "past"}
_GLOBAL = "past-index"

_READS = {"GetItem", "Query"}


def check_request(operation: str, request: Mapping[str, Any]) -> None:
    """Refuse a read that might not see what was just written, or reads a lane through. Raises Refused."""
    if operation == "Query" and "IndexName" not in request and "Limit" not in request:
        raise invalid("Query without an index reads a lane through, and duebell may not do so")
    for each in [request] if operation in _READS else request.get("RequestItems", {}).values():
        _check_consistency(operation, each)
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
