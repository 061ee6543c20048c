"""Claiming and saving many: what fails alone, answers that are lost, who takes no batches."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import boto3
import pytest

from duebell_shared.backend import Backend
from duebell_shared.errors import AwsUnavailable, DuebellError, NotDeployed, UnreadableTask
from duebell_shared.queue.store import Store
from duebell_shared.queue.table import DynamoTable
from duebell_shared.retention import RetentionPolicy
from duebell_shared.settings import Settings
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import QueueKey, Task
from tests.shared.batches import BATCH, THREE, THROTTLED, Fail, answer_nothing, aws, bare_moto, fail, sent
from tests.shared.table_calls import client_of, lose_the_next_answer
from tests.simulation.wire.dynamodb import DynamoDb
from tests.support import NOON, Calls, Clock
from tests.worker.hooks import Hooks

__all__ = ["aws", "bare_moto", "fail", "sent"]

KEYS = [QueueKey(NOON, each.id, each.lane) for each in THREE]
SOON = NOON + timedelta(seconds=1)
PAUSED = [(each, each.paused()) for each in THREE]

Claims = Sequence[Task | DuebellError | None]


@pytest.fixture
def store(backend: Backend, calls: Calls) -> DynamoTable:
    """A queue with three tasks."""
    for each in THREE:
        assert backend.store.insert(each)
    calls.clear()
    assert isinstance(backend.store, DynamoTable)
    return backend.store


def claim(store: Store, run: str = "run") -> Claims:
    return store.claim_many(KEYS, run=run, now=SOON, status=Status.SCHEDULED)


Write = Callable[[Store], Sequence[object]]
WRITES = pytest.mark.parametrize("write", [claim, lambda store: store.save_many(PAUSED)])


def ours(claimed: Claims, store: Store) -> list[str]:
    """The ids of those that were claimed, once, and came as they are stored."""
    tasks = [each for each in claimed if isinstance(each, Task)]
    for each in tasks:
        assert (each.status, each.attempt, each.run) == (Status.RUNNING, 1, "run")
        assert store.get(each.lane, each.id) == each
    return [each.id for each in tasks]


def test_many_are_one_call(store: DynamoTable, calls: Calls) -> None:
    claimed = claim(store)
    assert calls == {BATCH: 1}
    assert ours(claimed, store) == ["one", "two", "three"]
    calls.clear()
    running = [each for each in claimed if isinstance(each, Task)]
    done = [
        (each, each.done(now=SOON, keep=RetentionPolicy(retention=timedelta(days=1)))) for each in running
    ]
    assert store.save_many(done) == [True] * 3
    assert calls == {BATCH: 1}
    assert [store.get(each.lane, each.id) for each in THREE] == [after for _, after in done]


def test_one_is_an_update_as_ever(store: DynamoTable, calls: Calls) -> None:
    [claimed] = store.claim_many(KEYS[:1], run="run", now=SOON, status=Status.SCHEDULED)
    assert isinstance(claimed, Task)
    assert store.save_many([(claimed, claimed.moved(SOON, now=SOON))]) == [True]
    assert calls == {"UpdateItem": 2}


# Statements that fail alone.


@pytest.mark.parametrize("code", THROTTLED)
def test_what_is_throttled_is_tried_again_after_a_while_and_nothing_else_is(
    store: DynamoTable, sent: list[list[str]], clock: Clock, fail: Fail, code: str
) -> None:
    fail("two", code, times=2)
    assert ours(claim(store), store) == ["one", "two", "three"]
    assert sent == [["one", "two", "three"], ["two"], ["two"]]
    assert timedelta(seconds=0.15) <= clock.now - NOON <= timedelta(seconds=0.3)


@WRITES
def test_what_is_throttled_again_and_again_is_unavailable_and_not_tried_alone(
    store: DynamoTable, calls: Calls, clock: Clock, fail: Fail, write: Write
) -> None:
    fail("two", "ThrottlingError")
    one, two, three = write(store)
    assert isinstance(two, DuebellError)
    assert isinstance(two, AwsUnavailable)
    assert "throttled" in str(two)
    assert all(isinstance(each, Task | bool) for each in (one, three))
    assert calls == {BATCH: 6}
    assert timedelta(seconds=1.5) <= clock.now - NOON <= timedelta(seconds=3.1)


@WRITES
def test_what_was_made_is_not_forgotten_when_nobody_answers_the_next_try(
    store: DynamoTable, fail: Fail, aws: Hooks, write: Write
) -> None:
    fail("two", "ThrottlingError")

    def be_gone(**_: object) -> None:
        answer_nothing(store)

    aws.after(f"dynamodb.{BATCH}", be_gone)
    one, two, three = write(store)
    assert isinstance(two, DuebellError)
    assert isinstance(two, AwsUnavailable)
    assert all(isinstance(each, Task | bool) for each in (one, three))


def test_what_failed_alone_is_written_alone(store: DynamoTable, calls: Calls, fail: Fail) -> None:
    fail("two", "TransactionConflict")
    claimed = claim(store)
    assert calls == {BATCH: 1, "UpdateItem": 1}
    assert ours(claimed, store) == ["one", "two", "three"]
    calls.clear()
    running = [each for each in claimed if isinstance(each, Task)]
    assert store.save_many([(each, each.moved(SOON, now=SOON)) for each in running]) == [True] * 3
    assert calls == {BATCH: 1, "UpdateItem": 1}


@WRITES
def test_what_cannot_be_written_alone_either_is_its_own_error(
    store: DynamoTable, fail: Fail, aws: Hooks, write: Write
) -> None:
    fail("two", "TransactionConflict")
    aws.refuse("dynamodb.UpdateItem", "ThrottlingException")
    one, two, three = write(store)
    assert isinstance(two, DuebellError)
    assert isinstance(two, AwsUnavailable)
    assert all(isinstance(each, Task | bool) for each in (one, three))


def test_a_statement_that_failed_after_its_effect_finds_its_own_write(store: DynamoTable, fail: Fail) -> None:
    fail("two", "InternalServerError")
    assert ours(claim(store), store) == ["one", "two", "three"]


def test_and_so_does_a_change(store: DynamoTable, fail: Fail) -> None:
    fail("two", "InternalServerError")
    assert store.save_many(PAUSED) == [True] * 3


def test_a_statement_that_failed_does_not_take_anothers_claim_for_its_own(
    store: DynamoTable, fail: Fail
) -> None:
    assert store.claim(KEYS[1], run="other", now=SOON, status=Status.SCHEDULED)
    fail("two", "InternalServerError")
    assert ours(claim(store), store) == ["one", "three"]


def test_a_claim_that_is_answered_without_its_task_reads_it(
    store: DynamoTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = DynamoDb._change

    def without(*given: Any) -> dict[str, Any]:
        change(*given)
        return {}

    monkeypatch.setattr(DynamoDb, "_change", without)
    assert ours(claim(store), store) == ["one", "two", "three"]


def test_one_that_nobody_can_read_does_not_stand_in_the_others_way(store: DynamoTable) -> None:
    client_of(store).update_item(
        TableName="duebell",
        Key={"lane": {"S": str(THREE[1].lane)}, "id": {"S": "two"}},
        UpdateExpression="SET #attempt = :odd",
        ExpressionAttributeNames={"#attempt": "attempt"},
        ExpressionAttributeValues={":odd": {"S": "many"}},
    )
    claimed = claim(store)
    assert ours(claimed, store) == ["one", "three"]
    assert isinstance(claimed[1], DuebellError)
    assert isinstance(claimed[1], UnreadableTask)


# Answers that are lost, and calls that fail.


def test_a_batch_of_claims_whose_answer_is_lost_finds_its_own(store: DynamoTable) -> None:
    # Given a task that another run has claimed at the same moment
    assert store.claim(KEYS[1], run="other", now=SOON, status=Status.SCHEDULED)
    # When a batch is made, its answer is lost, and the SDK makes it again
    sent = lose_the_next_answer(store, BATCH)
    claimed = claim(store)
    # Then what it claimed is its own, once, and the other's is not
    assert sent == [BATCH] * 2
    assert ours(claimed, store) == ["one", "three"]
    assert claimed[1] is None


def test_a_batch_of_changes_whose_answer_is_lost_finds_its_own(store: DynamoTable) -> None:
    moved = THREE[1].moved(SOON, now=NOON)
    assert store.save(THREE[1], moved)
    sent = lose_the_next_answer(store, BATCH)
    assert store.save_many(PAUSED) == [True, False, True]
    assert sent == [BATCH] * 2
    assert store.get(THREE[1].lane, "two") == moved


@WRITES
def test_a_batch_that_nobody_answers_is_unavailable_and_not_tried_one_by_one(
    store: DynamoTable, write: Write
) -> None:
    asked = answer_nothing(store)
    assert {type(each) for each in write(store) if isinstance(each, DuebellError)} == {AwsUnavailable}
    assert asked == [BATCH]


@WRITES
def test_without_a_table_each_is_told_so(session: boto3.Session, write: Write) -> None:
    missing = Backend.connect(Settings(table="other"), session).store
    assert [type(each) for each in write(missing) if isinstance(each, DuebellError)] == [NotDeployed] * 3


# Who takes no batches.


@WRITES
@pytest.mark.parametrize("code", ["SerializationException", "AccessDeniedException"])
def test_a_batch_that_is_refused_is_written_one_by_one(
    store: DynamoTable, calls: Calls, aws: Hooks, write: Write, code: str
) -> None:
    aws.refuse(f"dynamodb.{BATCH}", code)
    assert all(isinstance(each, Task | bool) for each in write(store))
    assert calls["UpdateItem"] == 3


@pytest.mark.parametrize("code", ["AccessDenied", "ValidationError"])
def test_where_every_statement_is_refused_they_are_written_one_by_one_from_then_on(
    store: DynamoTable, calls: Calls, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    monkeypatch.setattr(DynamoDb, "_execute", lambda *_: {"Error": {"Code": code}})
    assert ours(claim(store), store) == ["one", "two", "three"]
    for _ in range(4):
        assert store.save_many(PAUSED) == [False] * 3
    assert (calls[BATCH], calls["UpdateItem"]) == (1 + 2, 3 + 4 * 3)


def test_where_sums_in_statements_are_refused_claims_go_one_by_one_and_outcomes_together(
    store: DynamoTable, calls: Calls, aws: Hooks
) -> None:
    # Given that DynamoDB takes no SET "attempt"="attempt"+?, which its documentation does not mention
    aws.refuse(f"dynamodb.{BATCH}", "ValidationException", when=lambda body: "+?" in body)
    # When tasks are claimed, then they are at once
    claimed = [each for each in claim(store) if isinstance(each, Task)]
    assert (calls[BATCH], calls["UpdateItem"]) == (0, 3)
    # And everything else goes in batches
    assert store.save_many([(each, each.given_back()) for each in claimed]) == [True] * 3
    assert (calls[BATCH], calls["UpdateItem"]) == (1, 3)


def test_a_stand_in_for_aws_that_trips_over_it_gets_them_one_by_one(bare_moto: boto3.Session) -> None:
    store = Backend.connect(Settings(), bare_moto).store
    assert store.insert_many(THREE) == [True] * 3
    assert ours(claim(store), store) == ["one", "two", "three"]
