"""Inserting many tasks: statements that fail, answers that are lost, and who takes no batches."""

from datetime import timedelta

import boto3
import pytest

from duebell_shared.backend import Backend
from duebell_shared.errors import AwsRefused, AwsUnavailable, DuebellError, NotDeployed
from duebell_shared.queue.batches import BatchWrite, insertion
from duebell_shared.queue.items import item_of
from duebell_shared.queue.store import AT_ONCE
from duebell_shared.queue.table import DynamoTable
from duebell_shared.settings import Settings
from tests.shared.batches import (
    BATCH,
    THREE,
    THROTTLED,
    Fail,
    answer_nothing,
    aws,
    bare_moto,
    fail,
    sent,
    store,
    task,
)
from tests.shared.table_calls import client_of, lose_the_next_answer
from tests.simulation.wire.dynamodb import DynamoDb
from tests.support import NOON, Calls, Clock
from tests.worker.hooks import Hooks

__all__ = ["aws", "bare_moto", "fail", "sent", "store"]


def test_many_are_one_call(store: DynamoTable, calls: Calls) -> None:
    assert store.insert_many([task(f"task-{number}") for number in range(AT_ONCE)]) == [True] * AT_ONCE
    assert calls == {BATCH: 1}


def test_a_task_is_the_same_item_whether_it_is_written_alone_or_with_others(store: DynamoTable) -> None:
    assert store.insert(task("alone", {"n": 1}))
    assert store.insert_many([task("other", {"n": 1})]) == [True]
    get, lane = client_of(store).get_item, {"S": "0"}
    alone, other = (
        get(TableName="duebell", Key={"lane": lane, "id": {"S": id}})["Item"] for id in ("alone", "other")
    )
    assert alone == {**other, "id": {"S": "alone"}}


# Statements that fail alone.


@pytest.mark.parametrize("code", THROTTLED)
def test_what_is_throttled_is_tried_again_after_a_while_and_nothing_else_is(
    store: DynamoTable, sent: list[list[str]], clock: Clock, fail: Fail, code: str
) -> None:
    fail("two", code, times=2)
    assert store.insert_many(THREE) == [True] * 3
    assert sent == [["one", "two", "three"], ["two"], ["two"]]
    assert timedelta(seconds=0.15) <= clock.now - NOON <= timedelta(seconds=0.3)


def test_what_is_throttled_again_and_again_is_unavailable_and_not_tried_alone(
    store: DynamoTable, calls: Calls, clock: Clock, fail: Fail
) -> None:
    fail("two", "ThrottlingError")
    one, two, three = store.insert_many(THREE)
    assert isinstance(two, DuebellError)
    assert isinstance(two, AwsUnavailable)
    assert "throttled" in str(two)
    assert (one, three) == (True, True)
    assert calls == {BATCH: 6}
    assert timedelta(seconds=1.5) <= clock.now - NOON <= timedelta(seconds=3.1)


def test_what_was_made_is_not_forgotten_when_nobody_answers_the_next_try(
    store: DynamoTable, fail: Fail, aws: Hooks
) -> None:
    fail("two", "ThrottlingError")

    def be_gone(**_: object) -> None:
        answer_nothing(store)

    aws.after(f"dynamodb.{BATCH}", be_gone)
    one, two, three = store.insert_many(THREE)
    assert isinstance(two, DuebellError)
    assert isinstance(two, AwsUnavailable)
    assert (one, three) == (True, True)


def test_what_failed_alone_is_written_alone(store: DynamoTable, calls: Calls, fail: Fail) -> None:
    fail("two", "TransactionConflict")
    assert store.insert_many(THREE) == [True] * 3
    assert calls == {BATCH: 1, "BatchGetItem": 1, "PutItem": 1}
    assert store.get(0, "two") == task("two")


def test_what_cannot_be_written_alone_either_is_its_own_error(
    store: DynamoTable, fail: Fail, aws: Hooks
) -> None:
    fail("two", "TransactionConflict")
    aws.refuse("dynamodb.PutItem", "ThrottlingException")
    one, two, three = store.insert_many(THREE)
    assert (one, three) == (True, True)
    assert isinstance(two, DuebellError)
    assert isinstance(two, AwsUnavailable)
    assert store.get(0, "two") is None


def test_a_statement_that_failed_after_its_effect_finds_its_own_write(store: DynamoTable, fail: Fail) -> None:
    fail("two", "InternalServerError")
    assert store.insert_many(THREE) == [True] * 3


def test_a_statement_that_failed_does_not_take_anothers_task_for_its_own(
    store: DynamoTable, fail: Fail
) -> None:
    assert store.insert(task("two", payload="another's"))
    fail("two", "InternalServerError")
    assert store.insert_many(THREE) == [True, False, True]
    assert store.get(0, "two") == task("two", payload="another's")


def test_an_item_that_nobody_can_read_keeps_its_id(store: DynamoTable) -> None:
    item = {"lane": {"S": "0"}, "id": {"S": "two"}, "due": {"S": "whenever"}}
    client_of(store).put_item(TableName="duebell", Item=item)
    assert store.insert_many(THREE) == [True, False, True]


# Answers that are lost, and calls that fail.


def test_a_batch_whose_answer_is_lost_finds_its_own_writes(store: DynamoTable) -> None:
    # Given a task that is there
    assert store.insert(task("two", payload="another's"))
    # When a batch is made, its answer is lost, and the SDK makes it again
    sent = lose_the_next_answer(store, BATCH)
    made = store.insert_many(THREE)
    # Then what it wrote is its own, and the other's is not
    assert sent == [BATCH] * 2
    assert made == [True, False, True]


def test_the_same_task_added_twice_is_there_already(store: DynamoTable) -> None:
    # An equal item is taken for one's own only when an answer may have been lost.
    assert store.insert_many(THREE) == [True] * 3
    assert store.insert_many(THREE) == [False] * 3


def test_a_batch_that_nobody_answers_is_unavailable_and_not_tried_one_by_one(
    store: DynamoTable,
) -> None:
    asked = answer_nothing(store)
    made = store.insert_many(THREE)
    assert {type(each) for each in made if isinstance(each, DuebellError)} == {AwsUnavailable}
    assert asked == [BATCH]


@pytest.mark.parametrize(
    ("code", "error"), [("ThrottlingException", AwsUnavailable), ("ExpiredTokenException", AwsRefused)]
)
def test_a_batch_that_is_refused_is_that_for_each(
    store: DynamoTable, aws: Hooks, code: str, error: type[Exception]
) -> None:
    aws.refuse(f"dynamodb.{BATCH}", code)
    came = store.insert_many(THREE)
    assert [type(each) for each in came if isinstance(each, DuebellError)] == [error] * 3
    assert store.head(0) != NOON


def test_without_a_table_each_is_told_so(session: boto3.Session) -> None:
    missing = Backend.connect(Settings(table="other"), session).store
    came = missing.insert_many(THREE)
    assert [type(each) for each in came if isinstance(each, DuebellError)] == [NotDeployed] * 3


# Who takes no batches.


def test_the_statement_is_partiql() -> None:
    # https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.insert.html
    assert insertion("duebell", {"lane": {"N": "0"}, "id": {"S": "a"}}) == {
        "Statement": "INSERT INTO \"duebell\" VALUE {'lane':?,'id':?}",
        "Parameters": [{"N": "0"}, {"S": "a"}],
    }


@pytest.mark.parametrize("code", ["AccessDenied", "ValidationError"])
def test_where_every_statement_is_refused_they_are_written_one_by_one_from_then_on(
    store: DynamoTable, calls: Calls, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    monkeypatch.setattr(DynamoDb, "_execute", lambda *_: {"Error": {"Code": code}})
    assert store.insert(task("two", payload="another's"))
    assert store.insert_many(THREE) == [True, False, True]
    for id in ("four", "five", "six"):
        assert store.insert_many([task(id)]) == [True]
    assert (calls[BATCH], calls["PutItem"]) == (2, 7)


def test_what_is_refused_twice_is_tried_again_after_five_minutes(
    store: DynamoTable, calls: Calls, aws: Hooks
) -> None:
    now = 0.0
    write = BatchWrite("duebell", client_of(store), insertion, clock=lambda: now)
    again = aws.refuse(f"dynamodb.{BATCH}", "ValidationException")
    items = [item_of(each) for each in THREE]
    assert (write(items), write(items)) == (None, None)
    again()
    now = 299.0
    assert (write(items), calls[BATCH]) == (None, 0)
    now = 300.0
    assert write(items)
    assert calls[BATCH] == 1


def test_a_bad_statement_does_not_end_batches(store: DynamoTable, aws: Hooks, calls: Calls) -> None:
    # Given a statement for which DynamoDB refuses the whole batch
    aws.refuse(f"dynamodb.{BATCH}", "ValidationException", when=lambda body: "bad" in body)
    for number in range(4):
        # When it is sent beside others, then each of these is written alone
        assert store.insert_many([task(f"bad-{number}"), task(f"good-{number}")]) == [True] * 2
        assert calls["PutItem"] == 2 * (number + 1)
        # And the next ones together
        assert store.insert_many([task(f"next-{number}"), task(f"last-{number}")]) == [True] * 2
        assert calls == {BATCH: number + 1, "PutItem": 2 * (number + 1)}


def test_a_stand_in_for_aws_that_trips_over_it_gets_them_one_by_one(bare_moto: boto3.Session) -> None:
    store = Backend.connect(Settings(), bare_moto).store
    assert store.insert_many(THREE) == [True] * 3
    assert store.insert_many(THREE) == [False] * 3
