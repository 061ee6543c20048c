"""DynamoDB in memory: what it refuses. That it does what it takes as it should, tests/store shows."""

from collections.abc import Mapping
from typing import Any

import pytest

from duebell_shared.queue.calls import insertion
from tests.simulation.wire.dynamodb import DynamoDb
from tests.simulation.wire.refused import Refused

KEY = {"lane": {"S": "0"}, "id": {"S": "one"}}
ITEM = {**KEY, "rev": {"N": "1"}, "queued": {"S": "2026"}, "status": {"S": "scheduled"}}

GET = {"TableName": "duebell", "Key": KEY, "ConsistentRead": True}
PUT = {"TableName": "duebell", "Item": ITEM}
UPDATE = {
    "TableName": "duebell",
    "Key": KEY,
    "UpdateExpression": "SET #rev = #rev + :rev",
    "ConditionExpression": "#rev = :if_rev",
    "ExpressionAttributeNames": {"#rev": "rev"},
    "ExpressionAttributeValues": {":rev": {"N": "1"}, ":if_rev": {"N": "1"}},
}
DELETE = {
    "TableName": "duebell",
    "Key": KEY,
    "ConditionExpression": "#rev = :rev",
    "ExpressionAttributeNames": {"#rev": "rev"},
    "ExpressionAttributeValues": {":rev": {"N": "1"}},
}
QUERY = {
    "TableName": "duebell",
    "IndexName": "due-index",
    "KeyConditionExpression": "(#0 = :0 AND #1 BETWEEN :1 AND :2)",
    "ExpressionAttributeNames": {"#0": "lane", "#1": "queued"},
    "ExpressionAttributeValues": {":0": {"S": "0"}, ":1": {"S": "2025"}, ":2": {"S": "2027"}},
    "ConsistentRead": True,
}
MANY = {"RequestItems": {"duebell": {"Keys": [KEY], "ConsistentRead": True}}}
STATEMENT = {
    "Statement": 'UPDATE "duebell" SET "rev"="rev"+? WHERE "lane"=? AND "id"=?',
    "Parameters": [{"N": "1"}, KEY["lane"], KEY["id"]],
}
BATCH = {"Statements": [STATEMENT]}


@pytest.fixture
def dynamodb() -> DynamoDb:
    """A table with one item."""
    dynamodb = DynamoDb("duebell")
    dynamodb.answer("PutItem", PUT)
    return dynamodb


def code_of(dynamodb: DynamoDb, operation: str, request: Mapping[str, Any]) -> str:
    with pytest.raises(Refused) as raised:
        dynamodb.answer(operation, request)
    return raised.value.code


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("GetItem", GET),
        ("PutItem", PUT),
        ("UpdateItem", UPDATE),
        ("Query", QUERY),
        ("BatchGetItem", MANY),
        ("BatchExecuteStatement", BATCH),
        ("DeleteItem", DELETE),
    ],
)
def test_it_takes_the_form_that_the_others_here_differ_from(
    dynamodb: DynamoDb, operation: str, request_: Mapping[str, Any]
) -> None:
    assert dynamodb.answer(operation, request_) is not None
    if "TableName" in request_:
        assert code_of(dynamodb, operation, {**request_, "TableName": "other"}) == "ResourceNotFoundException"


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        # Forms that duebell does not use
        ("GetItem", {**GET, "ConsistentRead": False}),
        ("GetItem", {**GET, "ProjectionExpression": "rev"}),
        ("Query", {name: value for name, value in QUERY.items() if name != "ConsistentRead"}),
        ("Query", {**QUERY, "FilterExpression": "#0 = :0"}),
        ("Query", {name: value for name, value in QUERY.items() if name != "IndexName"}),
        ("Query", {**QUERY, "IndexName": "past-index"}),
        ("Query", {**QUERY, "Select": "ALL_ATTRIBUTES"}),
        ("Query", {**QUERY, "KeyConditionExpression": "(#0 = :0 AND #1 < :1)"}),
        ("PutItem", {**PUT, "ReturnValues": "ALL_OLD"}),
        ("UpdateItem", {**UPDATE, "ReturnValues": "ALL_OLD"}),
        ("UpdateItem", {**UPDATE, "UpdateExpression": "ADD #rev :rev"}),
        ("UpdateItem", {**UPDATE, "UpdateExpression": "SET #rev = if_not_exists(#rev, :rev)"}),
        ("UpdateItem", {**UPDATE, "ConditionExpression": "size (#rev) = :if_rev"}),
        ("UpdateItem", {**UPDATE, "ConditionExpression": "rev = :if_rev"}),
        ("UpdateItem", {**UPDATE, "ConditionExpression": "#rev = :if_rev #rev"}),
        ("UpdateItem", {**UPDATE, "ConditionExpression": "(#rev = :if_rev"}),
        ("BatchExecuteStatement", {"Statements": [{**STATEMENT, "Statement": 'DELETE FROM "duebell"'}]}),
        # What DynamoDB refuses
        ("GetItem", {**GET, "Key": {"lane": {"S": "0"}}}),
        ("PutItem", {**PUT, "Item": {**ITEM, "queued": {"N": "1"}}}),
        ("PutItem", {**PUT, "Item": {**ITEM, "queued": {"S": ""}}}),
        ("Query", {**QUERY, "Limit": 0}),
        ("Query", {**QUERY, "ExclusiveStartKey": KEY}),
        ("Query", {**QUERY, "KeyConditionExpression": "(#0 = :0 AND #1 BETWEEN :2 AND :1)"}),
        ("Query", {**QUERY, "ExpressionAttributeNames": {"#0": "lane", "#1": "due"}}),
        ("UpdateItem", {**UPDATE, "ExpressionAttributeNames": {"#rev": "status"}}),
        ("UpdateItem", {**UPDATE, "ExpressionAttributeNames": {"#rev": "rev", "#more": "more"}}),
        ("UpdateItem", {**UPDATE, "ExpressionAttributeNames": {}}),
        ("BatchGetItem", {"RequestItems": {"duebell": {"Keys": [KEY, KEY], "ConsistentRead": True}}}),
        ("BatchGetItem", {"RequestItems": {"duebell": {"Keys": [], "ConsistentRead": True}}}),
        ("BatchExecuteStatement", {"Statements": [STATEMENT] * 2}),
        ("BatchExecuteStatement", {"Statements": []}),
        ("BatchExecuteStatement", {"Statements": [{**STATEMENT, "Parameters": []}]}),
    ],
)
def test_what_it_does_not_know_or_dynamodb_refuses_is_refused(
    dynamodb: DynamoDb, operation: str, request_: Mapping[str, Any]
) -> None:
    refused = {"ValidationException", "ConditionalCheckFailedException"}
    assert code_of(dynamodb, operation, request_) in refused
    assert list(dynamodb.items.values()) == [ITEM]


def test_an_operation_that_duebell_does_not_use_is_unknown(dynamodb: DynamoDb) -> None:
    assert code_of(dynamodb, "Scan", {"TableName": "duebell"}) == "UnknownOperationException"


def test_a_statement_that_is_refused_is_refused_alone(dynamodb: DynamoDb) -> None:
    other = {**KEY, "id": {"S": "two"}}
    statements = [
        insertion("duebell", ITEM),
        insertion("duebell", other),
        {**STATEMENT, "Parameters": [{"N": "1"}, KEY["lane"], {"S": "three"}]},
        {**STATEMENT, "Parameters": [{"S": "odd"}, KEY["lane"], {"S": "four"}]},
    ]
    dynamodb.answer("PutItem", {"TableName": "duebell", "Item": {**ITEM, "id": {"S": "four"}}})
    answer = dynamodb.answer("BatchExecuteStatement", {"Statements": statements})
    codes = [each.get("Error", {}).get("Code") for each in answer["Responses"]]
    assert codes == ["DuplicateItem", None, "ConditionalCheckFailed", "ValidationError"]


def test_a_page_says_where_to_go_on() -> None:
    # Given five items, and pages of two
    dynamodb = DynamoDb("duebell", page=2)
    for id in "abcde":
        dynamodb.answer("PutItem", {"TableName": "duebell", "Item": {**ITEM, "id": {"S": id}}})
    # When they are read page by page
    pages: list[list[str]] = []
    start = None
    while len(pages) < 5:
        answer = dynamodb.answer("Query", {**QUERY, **({"ExclusiveStartKey": start} if start else {})})
        pages.append([item["id"]["S"] for item in answer["Items"]])
        if not (start := answer.get("LastEvaluatedKey")):
            break
    # Then each is read once
    assert pages == [["a", "b"], ["c", "d"], ["e"]]
