"""Writing and reading many: what fails alone, answers that are lost, and who takes no batches."""

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any, NamedTuple
from unittest.mock import patch

import boto3
import pytest
from botocore.exceptions import ConnectTimeoutError
from moto import mock_aws

from duebell_shared.backend import Backend
from duebell_shared.errors import AwsUnavailable, DuebellError
from duebell_shared.instants import to_utc
from duebell_shared.queue.calls import BatchWrite
from duebell_shared.queue.changes import ItemInsertion
from duebell_shared.queue.items import item_of
from duebell_shared.queue.store import Store
from duebell_shared.queue.table import DynamoTable
from duebell_shared.settings import Settings
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.status import RetentionPolicy, Status
from duebell_shared.tasks.task import QueueKey, Task
from tests.shared.test_table import client_of, lose_the_next_answer
from tests.simulation.wire.dynamodb import DynamoDb
from tests.simulation.wire.expressions import Statement
from tests.support import NOON, REGION, Calls, Clock, create_table
from tests.worker.hooks import Hooks

BATCH = "BatchExecuteStatement"


def answer_nothing(store: DynamoTable) -> list[str]:
    """From now on nobody answers; the calls that are made."""
    asked: list[str] = []

    def happen(model: Any, **_: Any) -> None:
        asked.append(model.name)
        raise ConnectTimeoutError(endpoint_url="https://dynamodb")

    client_of(store).meta.events.register("before-call.dynamodb", happen)
    return asked


def task(id: str, payload: object = None) -> Task:
    return new_task(id=id, action="act", due=NOON, payload=payload, now=to_utc(NOON))


#: DynamoDB's answer to a statement that it has no capacity for at the moment.
THROTTLED = ["ProvisionedThroughputExceeded", "RequestLimitExceeded", "ThrottlingError"]

THREE = [task("one"), task("two"), task("three")]


#: Have the statement for this id fail with this code, so many times; unless told, each time.
Fail = Callable[..., None]


@pytest.fixture
def store(backend: Backend) -> DynamoTable:
    assert isinstance(backend.store, DynamoTable)
    return backend.store


@pytest.fixture
def aws(backend: Backend) -> Hooks:
    return Hooks(backend)


@pytest.fixture
def bare_moto() -> Iterator[boto3.Session]:
    """moto without what the tests add to it."""
    with mock_aws():
        session = boto3.Session(region_name=REGION)
        create_table(session)
        yield session


@pytest.fixture
def fail() -> Iterator[Fail]:
    """Have statements fail; after their effect, if the code is InternalServerError."""
    execute = DynamoDb._execute
    codes: dict[str, list[str]] = {}

    def fail(id: str, code: str, *, times: int = 1000) -> None:
        codes[id] = [code] * times

    def execute_or_fail(table: DynamoDb, statement: Statement) -> dict[str, Any]:
        left = codes.get(statement.key[1])
        code = left.pop() if left else None
        answer = execute(table, statement) if code in {None, "InternalServerError"} else {}
        return {"Error": {"Code": code, "Message": "as told"}} if code else answer

    with patch.object(DynamoDb, "_execute", execute_or_fail):
        yield fail


@pytest.fixture
def sent(store: DynamoTable) -> list[list[str]]:
    """For each batch, the ids of the tasks that it has statements for."""
    batches: list[list[str]] = []

    def note(params: dict[str, Any], **_: Any) -> None:
        statements = json.loads(params["body"])["Statements"]
        batches.append([each.id for each in THREE if f'"{each.id}"' in json.dumps(statements)])

    client_of(store).meta.events.register(f"before-call.dynamodb.{BATCH}", note)
    return batches


KEYS = [QueueKey(NOON, each.id, each.lane) for each in THREE]
SOON = NOON + timedelta(seconds=1)
PAUSED = [(each, each.paused()) for each in THREE]
ALL = ["one", "two", "three"]

Claims = Sequence[Task | DuebellError | None]


def put_three(store: Store) -> None:
    for each in THREE:
        assert store.insert(each)


def claim(store: Store) -> Claims:
    return store.claim_many(KEYS, run="run", now=SOON, status=Status.SCHEDULED)


def save(store: Store) -> Sequence[object]:
    return store.save_many(PAUSED)


def claim_by_another(store: Store) -> None:
    assert store.claim(KEYS[1], run="other", now=SOON, status=Status.SCHEDULED)


def ours(claimed: Claims, store: Store) -> list[str]:
    """The ids of those that were claimed, once, and came as they are stored."""
    tasks = [each for each in claimed if isinstance(each, Task)]
    for each in tasks:
        assert (each.status, each.attempt, each.run) == (Status.RUNNING, 1, "run")
        assert store.get(each.lane, each.id) == each
    return [each.id for each in tasks]


class Write(NamedTuple):
    """One way to write the three tasks: the call, the call for one alone, whether they are there before."""

    many: Callable[[Store], Sequence[object]]
    alone: str
    over_three: bool


@pytest.fixture(
    params=[
        Write(lambda store: store.insert_many(THREE), "PutItem", over_three=False),
        Write(claim, "UpdateItem", over_three=True),
        Write(save, "UpdateItem", over_three=True),
    ],
    ids=["insert", "claim", "save"],
)
def write(request: pytest.FixtureRequest, store: DynamoTable, calls: Calls) -> Write:
    """Each way to write three tasks, in a table that has what it needs."""
    write: Write = request.param
    if write.over_three:
        put_three(store)
        calls.clear()
    return write


@pytest.fixture
def three(store: DynamoTable, calls: Calls) -> DynamoTable:
    """A queue with the three tasks."""
    put_three(store)
    calls.clear()
    return store


def are_made(*written: object) -> bool:
    return all(isinstance(each, Task) or each is True for each in written)


def test_many_are_claimed_and_done_by_one_call_each(three: DynamoTable, calls: Calls) -> None:
    claimed = claim(three)
    assert calls == {BATCH: 1}
    assert ours(claimed, three) == ALL
    calls.clear()
    running = [each for each in claimed if isinstance(each, Task)]
    done = [
        (each, each.done(now=SOON, keep=RetentionPolicy(retention=timedelta(days=1)))) for each in running
    ]
    assert three.save_many(done) == [True] * 3
    assert calls == {BATCH: 1}
    assert [three.get(each.lane, each.id) for each in THREE] == [after for _, after in done]


# Statements that fail alone.


@pytest.mark.parametrize("code", THROTTLED)
def test_what_is_throttled_is_tried_again_after_a_while_and_nothing_else_is(
    store: DynamoTable, write: Write, sent: list[list[str]], clock: Clock, *, fail: Fail, code: str
) -> None:
    fail("two", code, times=2)
    assert are_made(*write.many(store))
    assert sent == [ALL, ["two"], ["two"]]
    assert timedelta(seconds=0.15) <= clock.now - NOON <= timedelta(seconds=0.3)


def test_what_is_throttled_again_and_again_is_unavailable_and_not_tried_alone(
    store: DynamoTable, write: Write, calls: Calls, clock: Clock, fail: Fail
) -> None:
    fail("two", "ThrottlingError")
    one, two, three = write.many(store)
    assert isinstance(two, AwsUnavailable)
    assert "throttled" in str(two)
    assert are_made(one, three)
    assert calls == {BATCH: 6}
    assert timedelta(seconds=1.5) <= clock.now - NOON <= timedelta(seconds=3.1)


def test_what_failed_alone_is_sent_alone(store: DynamoTable, write: Write, calls: Calls, fail: Fail) -> None:
    fail("two", "TransactionConflict")
    assert are_made(*write.many(store))
    assert (calls[BATCH], calls[write.alone]) == (1, 1)


def test_a_statement_that_failed_after_its_effect_finds_its_own_write(
    store: DynamoTable, write: Write, fail: Fail
) -> None:
    fail("two", "InternalServerError")
    assert are_made(*write.many(store))


def test_a_statement_that_failed_takes_no_other_write_for_its_own(store: DynamoTable, fail: Fail) -> None:
    assert store.insert(task("two", payload="another's"))
    fail("two", "InternalServerError")
    assert store.insert_many(THREE) == [True, False, True]
    assert store.get(0, "two") == task("two", payload="another's")
    claim_by_another(store)
    assert ours(claim(store), store) == ["one", "three"]


# Answers that are lost, and calls that fail.


def test_a_batch_whose_answer_is_lost_finds_its_own_writes(store: DynamoTable) -> None:
    # Given a task that is there, when a batch is made, its answer is lost, and the SDK makes it again
    assert store.insert(task("two", payload="another's"))
    sent = lose_the_next_answer(store, BATCH)
    # Then what it wrote is its own, and the other's is not
    assert store.insert_many(THREE) == [True, False, True]
    assert sent == [BATCH] * 2
    # And so it is with claims
    claim_by_another(store)
    sent = lose_the_next_answer(store, BATCH)
    claimed = claim(store)
    assert (ours(claimed, store), claimed[1]) == (["one", "three"], None)
    assert sent == [BATCH] * 2


def test_a_write_whose_answer_is_lost_and_that_is_throttled_then_is_found(
    store: DynamoTable, write: Write, fail: Fail
) -> None:
    sent = lose_the_next_answer(store, BATCH, meanwhile=lambda: fail("two", "RequestLimitExceeded", times=1))
    assert are_made(*write.many(store))
    assert sent == [BATCH] * 3


def test_a_batch_of_changes_whose_answer_is_lost_finds_its_own(three: DynamoTable) -> None:
    moved = THREE[1].moved(SOON, now=NOON)
    assert three.save(THREE[1], moved)
    sent = lose_the_next_answer(three, BATCH)
    assert three.save_many(PAUSED) == [True, False, True]
    assert (sent, three.get(THREE[1].lane, "two")) == ([BATCH] * 2, moved)


def test_a_batch_that_nobody_answers_is_unavailable_and_not_tried_one_by_one(
    store: DynamoTable, write: Write
) -> None:
    asked = answer_nothing(store)
    assert [type(each) for each in write.many(store)] == [AwsUnavailable] * 3
    assert asked == [BATCH]


def test_what_was_made_is_not_forgotten_when_nobody_answers_the_next_try(
    store: DynamoTable, write: Write, fail: Fail, aws: Hooks
) -> None:
    fail("two", "ThrottlingError")

    def be_gone(**_: object) -> None:
        answer_nothing(store)

    aws.after(f"dynamodb.{BATCH}", be_gone)
    one, two, three = write.many(store)
    assert isinstance(two, AwsUnavailable)
    assert are_made(one, three)


# A DynamoDB that takes no batches.


@pytest.mark.parametrize("code", ["AccessDenied", "ValidationError"])
def test_where_every_statement_is_refused_they_are_written_one_by_one_from_then_on(
    store: DynamoTable, calls: Calls, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    monkeypatch.setattr(DynamoDb, "_execute", lambda *_: {"Error": {"Code": code}})
    assert store.insert(task("two", payload="another's"))
    assert store.insert_many(THREE) == [True, False, True]
    for ids in (("four", "five"), ("six", "seven")):
        assert store.insert_many([task(id) for id in ids]) == [True] * 2
    assert (calls[BATCH], calls["PutItem"]) == (2, 8)
    calls.clear()
    assert ours(claim(store), store) == ALL
    for _ in range(4):
        assert store.save_many(PAUSED) == [False] * 3
    assert (calls[BATCH], calls["UpdateItem"]) == (1 + 2, 3 + 4 * 3)


def test_where_sums_in_statements_are_refused_claims_go_one_by_one_and_outcomes_together(
    three: DynamoTable, calls: Calls, aws: Hooks
) -> None:
    # Given that DynamoDB takes no SET "attempt"="attempt"+?, which its documentation does not mention
    aws.refuse(f"dynamodb.{BATCH}", "ValidationException", when=lambda body: "+?" in body)
    # When tasks are claimed, then they are at once
    claimed = [each for each in claim(three) if isinstance(each, Task)]
    assert (calls[BATCH], calls["UpdateItem"]) == (0, 3)
    # And everything else goes in batches
    assert three.save_many([(each, each.given_back()) for each in claimed]) == [True] * 3
    assert (calls[BATCH], calls["UpdateItem"]) == (1, 3)


@pytest.mark.parametrize(
    "code", ["ValidationException", "AccessDeniedException", "UnknownOperationException"]
)
def test_what_is_refused_twice_is_tried_again_after_five_minutes(
    store: DynamoTable, calls: Calls, aws: Hooks, code: str
) -> None:
    now = 0.0
    write = BatchWrite("duebell", client_of(store), clock=lambda: now)
    again = aws.refuse(f"dynamodb.{BATCH}", code)
    statements = [ItemInsertion(item_of(each)).statement("duebell") for each in THREE]
    assert (write(statements), write(statements)) == (None, None)
    again()
    now = 299.0
    assert (write(statements), calls[BATCH]) == (None, 0)
    now = 300.0
    assert write(statements)
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
    assert ours(claim(store), store) == ALL


# Reading many: what DynamoDB gives back unread is asked for again, and not without end.


READ = "BatchGetItem"

LeaveUnread = Callable[[Callable[[int], int]], None]


@pytest.fixture
def leave_unread(store: DynamoTable) -> LeaveUnread:
    """Have DynamoDB give back so many of the keys that it is asked for, by how many these are."""
    assert store.insert_many(THREE) == [True] * 3

    def register(how_many: Callable[[int], int]) -> None:
        def cut(parsed: dict[str, Any], **_: Any) -> None:
            found = parsed["Responses"]["duebell"]
            count = how_many(len(found))
            unread, parsed["Responses"]["duebell"] = found[:count], found[count:]
            keys = [{name: item[name] for name in ("lane", "id")} for item in unread]
            parsed["UnprocessedKeys"] = {"duebell": {"Keys": keys}} if keys else {}

        client_of(store).meta.events.register(f"after-call.dynamodb.{READ}", cut)

    return register


def test_what_is_given_back_unread_is_asked_for_again_after_a_while(
    store: DynamoTable, leave_unread: LeaveUnread, calls: Calls, clock: Clock
) -> None:
    leave_unread(lambda asked: asked - 1)
    assert store.get_many(KEYS) == {each.id: each for each in THREE}
    assert calls[READ] == 3
    assert timedelta(seconds=0.1) <= clock.now - NOON <= timedelta(seconds=0.2)


def test_what_is_never_read_is_unavailable_after_a_few_tries(
    store: DynamoTable, leave_unread: LeaveUnread, calls: Calls, clock: Clock
) -> None:
    leave_unread(lambda asked: asked)
    with pytest.raises(AwsUnavailable, match="too little capacity to read"):
        store.get_many(KEYS)
    assert calls[READ] == 6
    assert clock.now - NOON <= timedelta(seconds=3.1)


def test_more_than_a_call_takes_are_several_calls(store: DynamoTable, calls: Calls) -> None:
    keys = [QueueKey(NOON, f"missing {number}", 0) for number in range(150)]
    assert store.get_many(keys) == {}
    assert calls[READ] == 2
