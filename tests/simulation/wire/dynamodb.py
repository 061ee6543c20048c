"""DynamoDB in memory: the requests that duebell makes, understood to the letter, and nothing else.

A request is what the SDK sends, decoded; so is an answer. What it does not know is refused, and so is what
DynamoDB would refuse: `tests/store` holds it against the store's contract, as it does moto and MiniStack.
"""

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from .expressions import Item, condition, key_range, update
from .refused import Refused, invalid
from .requests import check_references, check_request
from .statements import INSERT, Statement, parse

__all__ = ["DynamoDb"]

_MISSING = "Cannot do operations on a non-existent table"
_HAS_FAILED = "The conditional request failed"

#: At most so many in one request.
_STATEMENTS, _KEYS = 25, 100

#: What goes wrong with one of many, given its effect: the code of the answer; None if nothing does.
Hiccup = Callable[[Callable[[], object]], str | None]


class DynamoDb:
    """One table with its index, `lane` and `id`, `lane` and `queued`.

    page    how many items a Query evaluates before it answers with a page; AWS does so at 1 MB
    hiccup  what goes wrong with one statement or key of many
    """

    def __init__(self, table: str, *, page: int = 1000, hiccup: Hiccup = lambda _: None) -> None:
        self.items: dict[tuple[str, str], Item] = {}
        self._table = table
        self._page = page
        self._hiccup = hiccup
        self._ids: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)  # the table's order, by lane
        self._queues: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)  # the index's
        self._operations: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "GetItem": self._get,
            "PutItem": self._put,
            "UpdateItem": self._update,
            "Query": self._query,
            "BatchGetItem": self._get_many,
            "BatchExecuteStatement": self._execute_many,
        }

    def answer(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """What DynamoDB answers to it. Raises Refused."""
        if operation not in self._operations:
            raise Refused("UnknownOperationException", operation)
        check_request(operation, request)
        if request.get("TableName", self._table) != self._table:
            raise Refused("ResourceNotFoundException", _MISSING)
        answer = self._operations[operation](request)
        if request.get("ReturnConsumedCapacity") == "TOTAL" and operation != "BatchGetItem":
            answer["ConsumedCapacity"] = {"TableName": self._table, "CapacityUnits": 1.0}
        return answer

    def _get(self, request: Mapping[str, Any]) -> dict[str, Any]:
        item = self.items.get(_key(request["Key"]))
        return {"Item": item} if item else {}

    def _put(self, request: Mapping[str, Any]) -> dict[str, Any]:
        names, values = check_references(request, "ConditionExpression")
        is_as_expected = condition(request.get("ConditionExpression"), names, values)
        item = dict(request["Item"])
        if not is_as_expected(self.items.get(_key(_keys_of(item)), {})):
            raise Refused("ConditionalCheckFailedException", _HAS_FAILED)
        self._store(item)
        return {}

    def _update(self, request: Mapping[str, Any]) -> dict[str, Any]:
        names, values = check_references(request, "ConditionExpression", "UpdateExpression")
        there = self.items.get(_key(request["Key"]))
        if not condition(request.get("ConditionExpression"), names, values)(there or {}):
            raise Refused("ConditionalCheckFailedException", _HAS_FAILED)
        changed = update(request["UpdateExpression"]).apply(there or dict(request["Key"]), names, values)
        if _keys_of(changed) != request["Key"]:
            raise invalid("Cannot update attribute, this attribute is part of the key")
        self._store(changed)
        return {"Attributes": changed} if request.get("ReturnValues") == "ALL_NEW" else {}

    def _query(self, request: Mapping[str, Any]) -> dict[str, Any]:
        names, values = check_references(request, "KeyConditionExpression", "FilterExpression")
        wanted = key_range(request["KeyConditionExpression"])
        lane, sort, low, high = wanted.bounds(names, values)
        of_index = "IndexName" in request
        if names[wanted.partition[0]] != "lane" or sort not in {None, "queued" if of_index else "id"}:
            raise invalid("Query condition missed key schema element")
        order = (self._queues if of_index else self._ids)[lane]
        first = bisect_left(order, (low, ""))
        if start := request.get("ExclusiveStartKey"):
            first = max(first, bisect_right(order, _place(start, of_index=of_index)))
        most = min(self._page, request.get("Limit", self._page))
        end = bisect_right(order, (high, "\U0010ffff"), lo=first)
        evaluated = [self.items[lane, id] for _, id in order[first : min(end, first + most)]]
        passes = condition(request.get("FilterExpression"), names, values)
        found = [item for item in evaluated if passes(item)]
        answer: dict[str, Any] = {"Count": len(found), "ScannedCount": len(evaluated)}
        if request.get("Select") != "COUNT":
            answer["Items"] = [_in_index(item) for item in found] if of_index else found
        if len(evaluated) == most:  # DynamoDB does not look whether there is more
            last = evaluated[-1]
            answer["LastEvaluatedKey"] = _in_index(last) if of_index else _keys_of(last)
        return answer

    def _get_many(self, request: Mapping[str, Any]) -> dict[str, Any]:
        [(table, asked)] = request["RequestItems"].items()
        keys = [_key(key) for key in asked["Keys"]]
        if table != self._table:
            raise Refused("ResourceNotFoundException", _MISSING)
        if not 0 < len(keys) <= _KEYS:
            raise invalid("Too many items requested for the BatchGetItem call")
        if len(set(keys)) < len(keys):
            raise invalid("Provided list of item keys contains duplicates")
        found, left = [], []
        for key in keys:
            if self._hiccup(lambda: None):
                left.append({"lane": {"S": key[0]}, "id": {"S": key[1]}})
            elif item := self.items.get(key):
                found.append(item)
        if len(left) == len(keys):  # "if none of the items can be processed …"
            raise Refused("ProvisionedThroughputExceededException")
        unprocessed = {self._table: {**asked, "Keys": left}} if left else {}
        return {"Responses": {self._table: found}, "UnprocessedKeys": unprocessed}

    def _execute_many(self, request: Mapping[str, Any]) -> dict[str, Any]:
        statements = [parse(each["Statement"], each["Parameters"]) for each in request["Statements"]]
        if not 0 < len(statements) <= _STATEMENTS:
            raise invalid("Member must have length less than or equal to 25")
        if len({each.key for each in statements}) < len(statements):
            raise invalid("Duplicate items in batch")
        return {"Responses": [self._execute_or_not(each) for each in statements]}

    def _execute_or_not(self, statement: Statement) -> dict[str, Any]:
        """What is answered to one of many: whatever becomes of it, the others are not concerned."""
        answers: list[dict[str, Any]] = []
        code = self._hiccup(lambda: answers.append(self._execute(statement)))
        if code is None:
            answers.append(self._execute(statement))
        return answers[0] if code is None else {"Error": {"Code": code, "Message": "as simulated"}}

    def _execute(self, statement: Statement) -> dict[str, Any]:
        if statement.table != self._table:
            return _error("ResourceNotFound")
        there = self.items.get(statement.key)
        try:
            if statement.verb == INSERT:
                if there:
                    return _error("DuplicateItem")
                self._store(dict(statement.sets))
                return {"TableName": self._table}
            if not there or not statement.applies_to(there):
                return _error("ConditionalCheckFailed")
            changed = statement.update(there)
            self._store(changed)
        except Refused:
            return _error("ValidationError")
        answer: dict[str, Any] = {"TableName": self._table}
        return {**answer, "Item": changed} if statement.returns else answer

    def _store(self, item: Item) -> None:
        """The item as it is from now on, in the table and in its index. Raises Refused."""
        key = lane, id = _key(_keys_of(item))
        queued = item.get("queued")
        if queued is not None and not queued.get("S"):
            raise invalid("Type mismatch for Index Key queued")
        there = self.items.get(key)
        before, after = _queued(there), _queued(item)
        if there is None:
            insort(self._ids[lane], (id, id))
        if before != after and before is not None:
            queue = self._queues[lane]
            del queue[bisect_left(queue, (before, id))]
        if before != after and after is not None:
            insort(self._queues[lane], (after, id))
        self.items[key] = item


def _key(key: Mapping[str, Any]) -> tuple[str, str]:
    if key.keys() != {"lane", "id"} or not (key["lane"].get("S") and key["id"].get("S")):
        raise invalid("The provided key element does not match the schema")
    return key["lane"]["S"], key["id"]["S"]


def _keys_of(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: item[name] for name in ("lane", "id") if name in item}


def _in_index(item: Mapping[str, Any]) -> dict[str, Any]:
    """What the index holds of an item: KEYS_ONLY."""
    return {name: item[name] for name in ("lane", "id", "queued")}


def _place(start: Mapping[str, Any], *, of_index: bool) -> tuple[str, str]:
    if start.keys() != ({"lane", "id", "queued"} if of_index else {"lane", "id"}):
        raise invalid("The provided starting key is invalid")
    return start["queued" if of_index else "id"]["S"], start["id"]["S"]


def _queued(item: Mapping[str, Any] | None) -> str | None:
    return item["queued"]["S"] if item and "queued" in item else None


def _error(code: str) -> dict[str, Any]:
    return {"Error": {"Code": code, "Message": "as simulated"}}
