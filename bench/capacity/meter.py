"""A meter at a boto3 session: the calls made through it, and the capacity that they consume.

Emulators say little of that, and not always the right thing. So the meter looks at the items before and after
each call, by a client of its own, and works it out by DynamoDB's rules."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from threading import Lock
from typing import Any

import boto3

from .units import INDEX_KEYS, read_units, refused_units, write_units

__all__ = ["Meter"]

_Items = dict[tuple[str, str], dict[str, Any] | None]


class Meter:
    """Calls by name, write units and read units, since it was last reset."""

    def __init__(self, session: boto3.Session, table: str) -> None:
        self._table = table
        self._own = boto3.client("dynamodb", region_name=session.region_name)
        self._lock = Lock()
        session.events.register("before-call", self._before)
        session.events.register("after-call", self._after)
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        self.calls: Counter[str] = Counter()
        self.write_units = 0
        self.read_units = 0

    def _before(self, model: Any, params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        if model.service_model.service_name == "dynamodb":
            asked = context["duebell_asked"] = json.loads(params["body"])
            context["duebell_before"] = self._written_to(model.name, asked)

    def _after(self, model: Any, parsed: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        asked = context.get("duebell_asked", {})
        before = context.get("duebell_before", {})
        written = self._written_units(model.name, asked, before, refused="Error" in parsed)
        read = self._read_units(model.name, asked, parsed)
        with self._lock:
            self.calls[model.name] += 1
            self.write_units += written
            self.read_units += read

    def _written_units(self, call: str, asked: dict[str, Any], before: _Items, *, refused: bool) -> int:
        if refused:
            return sum(refused_units(before[key]) for key in before)
        after = self._written_to(call, asked)
        times = 2 if call == "TransactWriteItems" else 1
        keys = before.keys() | after.keys()
        return times * sum(write_units(before.get(key), after.get(key)) for key in keys)

    def _read_units(self, call: str, asked: dict[str, Any], answered: dict[str, Any]) -> int:
        match call:
            case "GetItem":
                return read_units([answered["Item"]] if "Item" in answered else [])
            case "BatchGetItem":
                items = map(self._item, map(_key, asked["RequestItems"][self._table]["Keys"]))
                return sum(read_units([item] if item else []) for item in items)
            case "Query":
                return read_units(self._looked_at(asked))
            case _:
                return 0

    def _written_to(self, call: str, asked: dict[str, Any]) -> _Items:
        """The items that a call writes to, as they are now; None where there is none."""
        match call:
            case "PutItem" | "UpdateItem" | "DeleteItem":
                keys = [_key(asked.get("Key") or asked["Item"])]
            case "BatchWriteItem":
                keys = [_key(each["PutRequest"]["Item"]) for each in asked["RequestItems"][self._table]]
            case "BatchExecuteStatement":
                keys = [_key(_inserted(each)) for each in asked["Statements"]]
            case "TransactWriteItems":
                operations = [operation for each in asked["TransactItems"] for operation in each.values()]
                keys = [_key(operation.get("Key") or operation["Item"]) for operation in operations]
            case _:
                keys = []
        return {key: self._item(key) for key in keys}

    def _looked_at(self, asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The items that the query reads: more than it answers if it filters, or only counts."""
        condition = asked["KeyConditionExpression"]
        plain = {name: asked[name] for name in asked if name not in {"Select", "FilterExpression"}}
        for part in ("ExpressionAttributeNames", "ExpressionAttributeValues"):
            if used := {name: value for name, value in plain.pop(part, {}).items() if name in condition}:
                plain[part] = used
        for item in self._own.query(**plain)["Items"]:
            yield {key: item[key] for key in INDEX_KEYS} if "IndexName" in asked else item

    def _item(self, key: tuple[str, str]) -> dict[str, Any] | None:
        lane, id = key
        found = self._own.get_item(TableName=self._table, Key={"lane": {"S": lane}, "id": {"S": id}})
        return found.get("Item")


def _inserted(statement: dict[str, Any]) -> dict[str, Any]:
    """The item that an INSERT of PartiQL names, as one parameter, or as one for each attribute."""
    parameters = statement["Parameters"]
    names = re.findall(r"'(\w+)'\s*:\s*\?", statement["Statement"])
    item: dict[str, Any] = dict(zip(names, parameters, strict=True)) if names else parameters[0]["M"]
    return item


def _key(item: dict[str, Any]) -> tuple[str, str]:
    return item["lane"]["S"], item["id"]["S"]
