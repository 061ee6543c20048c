"""The table over moto: what AWS refuses or does not answer, and whose session is used."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from duebell_shared.backend import Backend
from duebell_shared.bell.arming import ArmingRecord, Lane
from duebell_shared.errors import AwsError, AwsRefused, AwsUnavailable
from duebell_shared.queue.changes import relocate_item, transact
from duebell_shared.queue.items import item_of
from duebell_shared.queue.store import Store
from duebell_shared.queue.table import DynamoTable
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.status import RetentionPolicy, Status
from duebell_shared.tasks.task import QueueKey, Task
from tests.support import NOON, Calls

SOON = NOON + timedelta(hours=1)


@pytest.fixture
def store(backend: Backend) -> Store:
    return backend.store


def task(**given: Any) -> Task:
    arguments: dict[str, Any] = {
        "id": "one",
        "action": "act",
        "due": SOON,
        "payload": {"n": 1},
        "now": NOON,
    } | given
    return new_task(**arguments)


KEY = QueueKey(SOON, "one", 0)


def client_of(store: Store) -> Any:
    client: Any = getattr(store, "_client")  # noqa: B009 - the contract has no client
    return client


def lose_the_next_answer(
    store: Store, operation: str, *, meanwhile: Callable[[], object] = lambda: None
) -> list[str]:
    """The next call of this operation takes effect and its answer is lost; the SDK then tries again.

    Returns what was sent, as it is. `meanwhile` is called between the two.
    """
    sent: list[str] = []

    def lose(event_name: str, **_: Any) -> None:
        if event_name == f"before-send.dynamodb.{operation}":
            sent.append(operation)
            if len(sent) == 1:
                meanwhile()
                raise ReadTimeoutError(endpoint_url="https://dynamodb")

    def at_once(caught_exception: Exception | None, **_: Any) -> int | None:
        return 0 if caught_exception else None  # seconds until the next try

    events = client_of(store).meta.events
    events.register_last("before-send", lose)  # after moto, which does there what is asked
    events.register_first(f"needs-retry.dynamodb.{operation}", at_once)
    return sent


def test_bounds_that_dynamodb_refuses_are_not_asked_for(store: Store, calls: Calls) -> None:
    # moto takes a BETWEEN whose bounds are the wrong way round; DynamoDB answers with a ValidationException.
    assert list(store.queued(0, after=SOON, before=NOON)) == []
    assert not calls
    assert list(store.queued(0, after=SOON, before=SOON)) == []
    assert calls == {"Query": 1}


# Refused calls of a transaction, which the SDK may have made before without an answer.


PUT = {"Put": {"TableName": "trials", "Item": {"id": {"S": "one"}}}}


class Refusing:
    """A client whose calls are refused with this code, after so many tries of the SDK."""

    def __init__(self, code: str, retries: int, *reasons: str) -> None:
        answer: Any = {"Error": {"Code": code}, "ResponseMetadata": {"RetryAttempts": retries}}
        answer["CancellationReasons"] = [{"Code": reason} for reason in reasons]
        self._error = ClientError(answer, "TransactWriteItems")

    def transact_write_items(self, **_: Any) -> None:
        raise self._error


@pytest.mark.parametrize(
    ("code", "retries", "error"),
    [
        ("ExpiredTokenException", 0, ClientError),
        ("ExpiredTokenException", 1, AwsUnavailable),
        ("ResourceNotFoundException", 1, AwsUnavailable),
    ],
)
def test_a_refusal_says_that_nothing_was_written_only_at_the_first_try(
    code: str, retries: int, error: type[Exception]
) -> None:
    client: Any = Refusing(code, retries)
    with pytest.raises(error, match="a try was not answered" if retries else code):
        transact(client, "queue", [PUT], "token")


@pytest.mark.parametrize("retries", [0, 1])
def test_a_cancellation_tells_whether_it_is_sure(retries: int) -> None:
    client: Any = Refusing("TransactionCanceledException", retries)
    transacted = transact(client, "queue", [PUT], "token")
    assert transacted.refusals
    assert transacted.is_sure is (retries == 0)


@pytest.mark.parametrize(
    ("reason", "error"),
    [
        ("ThrottlingError", AwsUnavailable),
        ("ProvisionedThroughputExceeded", AwsUnavailable),
        ("ValidationError", AwsRefused),
    ],
)
def test_a_move_to_another_lane_that_is_throttled_is_no_refusal(reason: str, error: type[AwsError]) -> None:
    client: Any = Refusing("TransactionCanceledException", 0, "None", reason)
    with pytest.raises(error, match="throttled" if error is AwsUnavailable else reason):
        relocate_item(client, "queue", item_of(task()), lane=1, now=NOON)


@pytest.mark.parametrize("reason", ["ConditionalCheckFailed", "TransactionConflict"])
def test_a_move_to_another_lane_that_another_change_forestalls_is_none(reason: str) -> None:
    client: Any = Refusing("TransactionCanceledException", 0, "None", reason)
    assert relocate_item(client, "queue", item_of(task()), lane=1, now=NOON) is False


# The table over moto, when the answer to a write is lost: the SDK tries again, and finds its own write.


def run(store: Store, added: Task) -> None:
    """The task is claimed and done."""
    assert added.queued
    key = QueueKey(queued=added.queued, id=added.id, lane=added.lane)
    claimed = store.claim(key, run="run", now=SOON, status=Status.SCHEDULED)
    assert claimed
    assert store.save(claimed, claimed.done(now=SOON, keep=RetentionPolicy(retention=timedelta(days=1))))


@pytest.mark.parametrize("given", [{}, {"due": None, "schedule": "rate(1 hour)"}], ids=["once", "recurring"])
def test_an_insert_finds_its_own_write_after_a_run_has_had_it(store: Store, given: dict[str, Any]) -> None:
    added = task(**given)
    sent = lose_the_next_answer(store, "PutItem", meanwhile=lambda: run(store, added))
    assert store.insert(added)
    assert sent == ["PutItem"] * 2
    there = store.get(0, added.id)
    assert there
    assert there.runs == (added.recurrence is not None)
    assert there.rev == 3


def test_an_insert_that_was_tried_twice_does_not_take_anothers_task_for_its_own(store: Store) -> None:
    # Given a task that is there
    assert store.insert(task(payload={"n": 2}))
    # When another is inserted under its id, and the refusal is lost
    sent = lose_the_next_answer(store, "PutItem")
    assert not store.insert(task())
    # Then it is as it was
    assert sent == ["PutItem"] * 2
    assert store.get(0, "one") == task(payload={"n": 2})


def test_a_claim_finds_its_own_write_unless_the_task_was_moved_since(store: Store) -> None:
    assert isinstance(store, DynamoTable)
    assert store.insert(task())
    sent = lose_the_next_answer(store, "UpdateItem")
    claimed = store.claim(KEY, run="run", now=SOON, status=Status.SCHEDULED)
    assert claimed
    assert sent == ["UpdateItem"] * 2
    assert (claimed.attempt, claimed.run) == (1, "run")
    assert store.get(0, "one") == claimed
    assert store.claim(KEY, run="run", now=SOON, status=Status.SCHEDULED, may_be_made=True) == claimed
    # When it was moved, which this run has not seen, and the refusal is lost, then the claim is another's
    assert store.save(claimed, claimed.moved(SOON + timedelta(hours=1), now=SOON))
    sent = lose_the_next_answer(store, "UpdateItem")
    again = store.claim(KEY, run="run", now=SOON + timedelta(seconds=1), status=Status.SCHEDULED)
    assert (again, sent) == (None, ["UpdateItem"] * 2)
    assert store.claim(KEY, run="run", now=SOON, status=Status.SCHEDULED, may_be_made=True) is None


def test_a_claim_that_was_given_back_is_not_found(store: Store) -> None:
    assert isinstance(store, DynamoTable)
    assert store.insert(task())
    claimed = store.claim(KEY, run="run", now=SOON, status=Status.SCHEDULED)
    assert claimed
    assert store.save(claimed, claimed.given_back())
    assert store.claim(KEY, run="run", now=SOON, status=Status.RUNNING, may_be_made=True) is None


def test_a_claim_that_was_tried_twice_does_not_take_anothers_for_its_own(store: Store) -> None:
    assert store.insert(task())
    assert store.claim(KEY, run="other", now=SOON, status=Status.SCHEDULED)
    lose_the_next_answer(store, "UpdateItem")
    assert store.claim(KEY, run="run", now=SOON, status=Status.SCHEDULED) is None
    assert store.claim(KEY, run="run", now=SOON, status=Status.SCHEDULED) is None


def test_a_swap_whose_answer_is_lost_leaves_it_to_the_next_read(store: Store) -> None:
    # Given a record whose swap is tried twice
    sent = lose_the_next_answer(store, "PutItem")
    record = ArmingRecord(lanes=(Lane(due=SOON),))
    # Then it counts as not made, which whoever swaps reads anew after, and finds it
    assert store.swap_record(None, record) is None
    found = store.read_record()
    assert found
    assert sent == ["PutItem"] * 2
    assert (found.lanes, found.rev) == (record.lanes, 1)
