"""DynamoDB in memory: the requests that duebell makes, understood to the letter, and nothing else.

A request is what the SDK sends, decoded; so is an answer. What it does not know is refused, and so is what
DynamoDB would refuse: `tests/store` holds it against the store's contract, as it does moto and MiniStack.
"""

import math
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from duebell_shared.queue.items import size_of
from duebell_shared.queue.lane_sizes import GIGABYTE
from duebell_shared.queue.records import ARMING, CALENDARS, LIMITS, SEMAPHORE, WORKER

from .expressions import DELETE, INSERT, Item, Statement, check_references, meets_condition, parse, update
from .refused import Refused, canceled, invalid

_MISSING = "Cannot do operations on a non-existent table"

#: At most so many in one request.
_STATEMENTS, _KEYS = 25, 100

#: The indexes, each by what it sorts by. That of the past is global, and cannot be read consistently.
INDEXES = {"due-index": "queued", "past-index": "past"}
_GLOBAL = "past-index"

#: The values of `lane` that are none.
RECORDS = {ARMING, CALENDARS, LIMITS, SEMAPHORE, WORKER}

#: The code of the answer to a statement for a full lane; to a call, it is this with "Exception" behind it.
FULL = "ItemCollectionSizeLimitExceeded"

#: The fault of one of many, given its effect: the code of the answer; None without a fault.
Hiccup = Callable[[Callable[[], object]], str | None]


class LaneSizes:
    """The bytes in each lane, and the most that there may be: AWS allows 10 GB, a test some KB.

    A write that makes a lane larger than that is refused. Every other write is made.
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html#LSI.ItemCollections.SizeLimit
    """

    def __init__(self) -> None:
        self.most = math.inf
        self.of: defaultdict[str, int] = defaultdict(int)

    def check(self, lane: str, before: Item | None, after: Item) -> None:
        grows = size_of(after) - (size_of(before) if before else 0)
        if grows > 0 and self.of[lane] + grows > self.most and lane not in RECORDS:
            raise Refused(f"{FULL}Exception", f"lane {lane} is full")

    def count(self, lane: str, item: Item, sign: int = 1) -> None:
        """The lane holds this item from now on; with -1, it does not any more."""
        self.of[lane] += sign * size_of(item)

    def metrics(self, item: Item) -> dict[str, Any]:
        whole = self.of[item["lane"]["S"]] // GIGABYTE
        return {
            "ItemCollectionKey": {"lane": item["lane"]},
            "SizeEstimateRangeGB": [float(whole), float(whole + 1)],
        }


class DynamoDb:
    """One table of `lane` and `id` with its indexes, of `lane` and `queued`, and of `lane` and `past`.

    page    how many items a Query evaluates before it answers with a page; AWS does so at 1 MB
    hiccup  what goes wrong with one statement or key of many
    """

    def __init__(self, table: str, *, page: int = 1000, hiccup: Hiccup = lambda _: None) -> None:
        self.sizes = LaneSizes()
        self.items: dict[tuple[str, str], Item] = {}
        self.others: dict[tuple[str, str], Item] = {}  # what transactions put into tables of users
        self._table = table
        self._page = page
        self._hiccup = hiccup
        self._transactions: set[str] = set()  # the tokens of those that were made
        # The items of a lane in each index, in order.
        self._orders: defaultdict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
        self._operations: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "GetItem": self._get,
            "PutItem": partial(self._write, "Put"),
            "UpdateItem": partial(self._write, "Update"),
            "DeleteItem": partial(self._write, "Delete"),
            "Query": self._query,
            "BatchGetItem": self._get_many,
            "BatchExecuteStatement": self._execute_many,
            "TransactWriteItems": self._transact,
        }

    def answer(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        if operation not in self._operations:
            raise Refused("UnknownOperationException", operation)
        _check_request(operation, request)
        if request.get("TableName", self._table) != self._table:
            raise Refused("ResourceNotFoundException", _MISSING)
        answer = self._operations[operation](request)
        if request.get("ReturnConsumedCapacity") == "TOTAL" and operation != "BatchGetItem":
            answer["ConsumedCapacity"] = {"TableName": self._table, "CapacityUnits": 1.0}
        if request.get("ReturnItemCollectionMetrics") == "SIZE":
            answer["ItemCollectionMetrics"] = self.sizes.metrics(request.get("Item") or request["Key"])
        return answer

    def _get(self, request: Mapping[str, Any]) -> dict[str, Any]:
        item = self.items.get(_key(request["Key"]))
        return {"Item": item} if item else {}

    def _write(self, verb: str, write: Mapping[str, Any]) -> dict[str, Any]:
        """Put, update or delete an item on a condition."""
        there = self.items.get(self._place_of_write(verb, write))
        if not meets_condition(write, there or {}):
            raise Refused("ConditionalCheckFailedException", "The conditional request failed")
        item = dict(write["Item"]) if verb == "Put" else there or dict(write["Key"])
        if verb == "Update":
            item = update(write).apply(item)
            if _keys_of(item) != write["Key"]:
                raise invalid("Cannot update attribute, this attribute is part of the key")
        if verb != "Delete":
            self._store(item)
        elif there:
            self._take_out(there)
        return {"Attributes": item} if write.get("ReturnValues") == "ALL_NEW" else {}

    def _query(self, request: Mapping[str, Any]) -> dict[str, Any]:
        names, values = check_references(request, "KeyConditionExpression")
        texts = {name: value["S"] for name, value in values.items()}
        lane, attribute = texts[":lane"], INDEXES.get(request.get("IndexName", ""), "")
        is_of_index = names.get("#sort") == attribute
        match request["KeyConditionExpression"]:
            case "#lane = :lane AND begins_with (#id, :prefix)" if not attribute:
                return self._named(lane, texts[":prefix"], request)
            case "#lane = :lane AND #sort BETWEEN :low AND :high" if is_of_index:
                low, high = texts[":low"], texts[":high"]
            case other:
                raise invalid(f"Query {other!r} is not understood")
        if low > high:
            raise invalid(
                "The BETWEEN operator requires upper bound to be greater than or equal to lower bound"
            )
        order = self._orders[attribute, lane]
        first = bisect_left(order, (low, ""))
        end = bisect_right(order, (high, "\U0010ffff"), lo=first)
        is_forward = request.get("ScanIndexForward", True)
        if start := request.get("ExclusiveStartKey"):
            place = _place(start, attribute)
            first = max(first, bisect_right(order, place)) if is_forward else first
            end = end if is_forward else min(end, bisect_left(order, place))
        most = min(self._page, request.get("Limit", self._page))
        places = order[first:end] if is_forward else order[first:end][::-1]
        found = [self.items[lane, id] for _, id in places[:most]]
        answer: dict[str, Any] = {"Count": len(found), "ScannedCount": len(found)}
        if request.get("Select") != "COUNT":
            answer["Items"] = [_in_index(item, attribute) for item in found]
        if len(found) == most:  # DynamoDB does not look whether there is more
            answer["LastEvaluatedKey"] = _in_index(found[-1], attribute)
        return answer

    def _named(self, lane: str, beginning: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """The items of a lane whose ids begin so, as the table sorts them."""
        start = request.get("ExclusiveStartKey")
        behind = _key(start)[1].encode() if start else b""
        ids = (id for place, id in self.items if place == lane and id.startswith(beginning))
        in_order = sorted((id for id in ids if id.encode() > behind), key=str.encode)
        found = [self.items[lane, id] for id in in_order[: request["Limit"]]]
        answer: dict[str, Any] = {"Count": len(found), "ScannedCount": len(found), "Items": found}
        if len(found) == request["Limit"]:  # DynamoDB does not look whether there is more
            answer["LastEvaluatedKey"] = _keys_of(found[-1])
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

    def _transact(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Writes of different items: all of them, or none. A token's second call does nothing.

        Tables of users have `id` as their key, and take puts only.
        """
        if request["ClientRequestToken"] in self._transactions:
            return {}
        writes = [next(iter(each.items())) for each in request["TransactItems"]]
        if len({self._place_of_write(*each) for each in writes}) < len(writes):
            raise invalid("Transaction request cannot include multiple operations on one item")
        if code := self._hiccup(lambda: None):
            first = code if code == "ThrottlingError" else "TransactionConflict"
            raise canceled([first, *["None"] * (len(writes) - 1)])
        refused = ["None" if self._may_write(*each) else "ConditionalCheckFailed" for each in writes]
        if set(refused) != {"None"}:
            raise canceled(refused)
        for verb, write in writes:
            if write["TableName"] == self._table:
                self._write(verb, write)
            else:
                self.others[self._place_of_write(verb, write)] = write["Item"]
        self._transactions.add(request["ClientRequestToken"])
        return {}

    def _may_write(self, verb: str, write: Mapping[str, Any]) -> bool:
        is_ours = write["TableName"] == self._table
        if verb not in ({"Put", "Delete", "Update"} if is_ours else {"Put"}):
            raise invalid(f"{verb} is not understood")
        if verb == "Update" and "ReturnValues" in write:
            raise invalid("Update of a transaction takes no ReturnValues")
        there = (self.items if is_ours else self.others).get(self._place_of_write(verb, write), {})
        return meets_condition(write, there)

    def _place_of_write(self, verb: str, write: Mapping[str, Any]) -> tuple[str, str]:
        of: Mapping[str, Any] = write["Item" if verb == "Put" else "Key"]
        if write["TableName"] != self._table:
            return write["TableName"], of["id"]["S"]
        return _key(_keys_of(of) if verb == "Put" else of)

    def _execute_many(self, request: Mapping[str, Any]) -> dict[str, Any]:
        statements = [parse(each["Statement"], each["Parameters"]) for each in request["Statements"]]
        if not 0 < len(statements) <= _STATEMENTS:
            raise invalid("Member must have length less than or equal to 25")
        if len({each.key for each in statements}) < len(statements):
            raise invalid("Duplicate items in batch")
        return {"Responses": [self._execute_or_not(each) for each in statements]}

    def _execute_or_not(self, statement: Statement) -> dict[str, Any]:
        """The answer to one of many; it does not affect the others."""
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
                self._store(statement.update.apply({}))
                return {"TableName": self._table}
            if not there or not statement.applies_to(there):
                return _error("ConditionalCheckFailed")
            return {"TableName": self._table, **self._change(there, statement)}
        except Refused as refused:
            return _error(FULL if refused.code == f"{FULL}Exception" else "ValidationError")

    def _change(self, there: Item, statement: Statement) -> dict[str, Any]:
        if statement.verb == DELETE:
            self._take_out(there)
            return {}
        changed = statement.update.apply(there)
        self._store(changed)
        return {"Item": changed} if statement.returns else {}

    def _store(self, item: Item) -> None:
        key = lane, id = _key(_keys_of(item))
        for attribute in INDEXES.values():
            if attribute in item and not item[attribute].get("S"):
                raise invalid(f"Type mismatch for Index Key {attribute}")
        self.sizes.check(lane, there := self.items.get(key), item)
        if there:
            self._take_out(there)
        self.sizes.count(lane, item)
        for attribute in INDEXES.values():
            if attribute in item:
                insort(self._orders[attribute, lane], (item[attribute]["S"], id))
        self.items[key] = item

    def _take_out(self, item: Item) -> None:
        key = lane, id = _key(_keys_of(item))
        for attribute in INDEXES.values():
            if attribute in item:
                order = self._orders[attribute, lane]
                del order[bisect_left(order, (item[attribute]["S"], id))]
        self.sizes.count(lane, item, sign=-1)
        del self.items[key]


def _key(key: Mapping[str, Any]) -> tuple[str, str]:
    if key.keys() != {"lane", "id"} or not (key["lane"].get("S") and key["id"].get("S")):
        raise invalid("The provided key element does not match the schema")
    return key["lane"]["S"], key["id"]["S"]


def _keys_of(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: item[name] for name in ("lane", "id") if name in item}


def _in_index(item: Mapping[str, Any], attribute: str) -> dict[str, Any]:
    return {name: item[name] for name in ("lane", "id", attribute)}


def _place(start: Mapping[str, Any], attribute: str) -> tuple[str, str]:
    if start.keys() != {"lane", "id", attribute}:
        raise invalid("The provided starting key is invalid")
    return start[attribute]["S"], start["id"]["S"]


def _error(code: str) -> dict[str, Any]:
    return {"Error": {"Code": code, "Message": "as simulated"}}


def _check_request(operation: str, request: Mapping[str, Any]) -> None:
    """Refuse a read that might not see what was just written, or reads a lane through. Raises Refused."""
    if operation == "Query" and "IndexName" not in request and "Limit" not in request:
        raise invalid("Query without an index reads a lane through, and duebell may not do so")
    for each in [request] if operation in {"GetItem", "Query"} else request.get("RequestItems", {}).values():
        _check_consistency(operation, each)
    if (limit := request.get("Limit", 1)) < 1:
        raise invalid(f"Limit {limit} is below 1")


def _check_consistency(operation: str, read: Mapping[str, Any]) -> None:
    if read.get("IndexName") == _GLOBAL and read.get("ConsistentRead"):
        raise invalid("Consistent reads are not supported on global secondary indexes")
    is_of_the_worker = read.get("Key", {}).get("lane") == {"S": "worker"}
    if read.get("IndexName") != _GLOBAL and read.get("ConsistentRead") is not True and not is_of_the_worker:
        raise invalid(f"{operation} is not consistent, and no read of what waits may be so")
