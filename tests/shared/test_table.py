"""The table over moto: answers that are lost, what AWS refuses, and whose session is used."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import boto3
import msgspec
import pytest
from botocore.exceptions import ConnectTimeoutError, ReadTimeoutError
from moto import mock_aws

from duebell_shared.arming import ArmingRecord
from duebell_shared.backend import Backend
from duebell_shared.errors import AwsError, AwsRefused, AwsUnavailable, InvalidSettings, NotDeployed
from duebell_shared.keeping import Keeping
from duebell_shared.lane import Lane
from duebell_shared.new_task import new_task
from duebell_shared.past_index import Past
from duebell_shared.recurrence import Recurrence
from duebell_shared.schedule import make_schedule
from duebell_shared.settings import Settings
from duebell_shared.store import Store
from duebell_shared.table import DynamoTable
from duebell_shared.task import QueueKey, Status, Task
from tests.support import NOON, REGION, Calls, create_table

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


SCHEDULE = make_schedule("rate(1 hour)", start=NOON, now=NOON)
HOURLY = Recurrence(schedule=SCHEDULE, next_due=SCHEDULE.first(NOON))
KEY = QueueKey(SOON, "one", 0)


def client_of(store: Store) -> Any:
    client: Any = getattr(store, "_client")  # noqa: B009 - the contract has no client
    return client


# Answers that are lost.


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


def test_an_insert_finds_its_own_write(store: Store) -> None:
    sent = lose_the_next_answer(store, "PutItem")
    assert store.insert(task())
    assert sent == ["PutItem"] * 2
    assert store.get(0, "one") == task()


def run(store: Store, added: Task) -> None:
    """The task is claimed and done."""
    assert added.queued
    key = QueueKey(queued=added.queued, id=added.id, lane=added.lane)
    claimed = store.claim(key, run="run", now=SOON, status=Status.SCHEDULED)
    assert claimed
    assert store.save(claimed, claimed.done(now=SOON, keep=Keeping(retention=timedelta(days=1))))


@pytest.mark.parametrize("given", [{}, {"due": None, "recurrence": HOURLY}], ids=["once", "recurring"])
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


def test_a_change_finds_its_own_write(store: Store) -> None:
    assert store.insert(task())
    sent = lose_the_next_answer(store, "UpdateItem")
    assert store.save(task(), task().paused())
    assert sent == ["UpdateItem"] * 2
    assert store.get(0, "one") == task().paused()


def test_a_claim_finds_its_own_write_and_counts_one_attempt(store: Store) -> None:
    assert store.insert(task())
    sent = lose_the_next_answer(store, "UpdateItem")
    claimed = store.claim(KEY, run="run", now=SOON, status=Status.SCHEDULED)
    assert claimed
    assert sent == ["UpdateItem"] * 2
    assert (claimed.attempt, claimed.run) == (1, "run")
    assert store.get(0, "one") == claimed


def test_a_claim_of_what_a_dead_run_left_running_finds_its_own_write_and_counts_one_attempt(
    store: Store,
) -> None:
    assert store.insert(task())
    assert store.claim(KEY, run="dead", now=SOON, status=Status.SCHEDULED)
    sent = lose_the_next_answer(store, "UpdateItem")
    now = SOON + timedelta(minutes=3)
    claimed = store.claim(KEY, run="run", now=now, status=Status.RUNNING)
    assert claimed
    assert sent == ["UpdateItem"] * 2
    assert (claimed.attempt, claimed.rev, claimed.run) == (2, 3, "run")
    assert store.get(0, "one") == claimed


def test_a_claim_that_was_tried_twice_does_not_take_anothers_for_its_own(store: Store) -> None:
    assert store.insert(task())
    assert store.claim(KEY, run="other", now=SOON, status=Status.SCHEDULED)
    lose_the_next_answer(store, "UpdateItem")
    assert store.claim(KEY, run="run", now=SOON, status=Status.SCHEDULED) is None
    assert store.claim(KEY, run="run", now=SOON, status=Status.SCHEDULED) is None


def test_a_claim_from_before_is_not_taken_for_this_one(store: Store) -> None:
    # Given a task that a run has claimed, and that was moved then
    assert store.insert(task())
    claimed = store.claim(KEY, run="run", now=SOON, status=Status.SCHEDULED)
    assert claimed
    assert store.save(claimed, claimed.moved(SOON + timedelta(hours=1), now=SOON))
    # When the same run, which has not seen that, claims it again, and the refusal is lost
    sent = lose_the_next_answer(store, "UpdateItem")
    again = store.claim(KEY, run="run", now=SOON + timedelta(seconds=1), status=Status.SCHEDULED)
    # Then it has not got it
    assert sent == ["UpdateItem"] * 2
    assert again is None


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


# What AWS refuses, or does not answer.


def test_a_claim_whose_answer_was_lost_does_not_count_when_the_task_was_moved_since(store: Store) -> None:
    assert isinstance(store, DynamoTable)
    assert store.insert(task())
    claimed = store.claim(KEY, run="run", now=SOON, status=Status.SCHEDULED)
    assert claimed
    assert store.claim(KEY, run="run", now=SOON, status=Status.SCHEDULED, may_be_made=True) == claimed
    assert store.save(claimed, claimed.moved(timedelta(days=1), now=SOON))
    assert store.claim(KEY, run="run", now=SOON, status=Status.SCHEDULED, may_be_made=True) is None


def test_a_task_that_was_done_since_and_kept_no_payload_counts_as_added(store: Store) -> None:
    assert isinstance(store, DynamoTable)
    assert store.insert(task())
    claimed = store.claim(KEY, run="run", now=SOON, status=Status.SCHEDULED)
    assert claimed
    assert store.save(claimed, claimed.done(now=SOON, keep=Keeping(payload=0)))
    assert store._has_added(task())
    other = msgspec.structs.replace(task(), action="other")
    assert not store._has_added(other)


def verbs(store: Store) -> Iterator[Any]:
    """Each verb of the contract, to be called."""
    record = ArmingRecord(lanes=(Lane(),))
    yield store.read_record
    yield lambda: store.swap_record(None, record)
    yield lambda: store.insert(task())
    yield lambda: store.save(task(), task().paused())
    yield lambda: store.get(0, "one")
    yield lambda: store.get_many([KEY])
    yield lambda: store.claim(KEY, run="run", now=SOON, status=Status.SCHEDULED)
    yield lambda: list(store.queued(0))
    yield lambda: list(store.past(0, Past.DONE))
    yield lambda: store.count_past(0, Past.DONE, most=9)
    yield lambda: store.head(0)


def test_a_table_that_is_not_there_is_said_with_the_way_out(session: boto3.Session) -> None:
    missing = Backend.connect(Settings(table="other"), session).store
    for verb in verbs(missing):
        with pytest.raises(NotDeployed) as raised:
            verb()
        assert str(raised.value) == (
            "there is no DynamoDB table 'other' in eu-central-1: run `duebell deploy`, "
            "or set DUEBELL_TABLE and AWS_REGION to where it is"
        )


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("AccessDeniedException", AwsRefused),
        ("UnrecognizedClientException", AwsRefused),
        ("ExpiredTokenException", AwsRefused),
        ("ThrottlingException", AwsUnavailable),
        ("ProvisionedThroughputExceededException", AwsUnavailable),
        ("RequestLimitExceeded", AwsUnavailable),
        ("InternalServerError", AwsUnavailable),
    ],
)
def test_what_dynamodb_answers_is_an_error_of_ours(store: Store, code: str, expected: type[AwsError]) -> None:
    def refuse(**_: Any) -> tuple[Any, dict[str, Any]]:
        answer = {"Error": {"Code": code, "Message": "so it is"}, "ResponseMetadata": {}}
        return SimpleNamespace(status_code=400, headers={}), answer

    client_of(store).meta.events.register("before-call.dynamodb", refuse)
    for verb in verbs(store):
        with pytest.raises(expected, match=r"^DynamoDB, table 'duebell': .*so it is"):
            verb()


@pytest.mark.parametrize(
    ("status", "code"), [(500, "500"), (502, "502"), (503, "503"), (500, "InternalFailure"), (504, "")]
)
def test_a_status_of_500_or_above_is_no_answer_whatever_the_code_says(
    store: Store, status: int, code: str
) -> None:
    # Given a load balancer that fails: without JSON, the SDK makes a code of the status
    def fail(**_: Any) -> tuple[Any, dict[str, Any]]:
        answer = {
            "Error": {"Code": code, "Message": "so it is"},
            "ResponseMetadata": {"HTTPStatusCode": status},
        }
        return SimpleNamespace(status_code=status, headers={}), answer

    client_of(store).meta.events.register("before-call.dynamodb", fail)
    # Then each call may have had an effect, and is worth another try
    for verb in verbs(store):
        with pytest.raises(AwsUnavailable, match=r"^DynamoDB, table 'duebell': .*so it is"):
            verb()


def test_who_may_not_read_many_at_once_reads_one_by_one(store: Store, calls: Calls) -> None:
    def refuse(**_: Any) -> tuple[Any, dict[str, Any]]:
        answer = {"Error": {"Code": "AccessDeniedException", "Message": "no"}, "ResponseMetadata": {}}
        return SimpleNamespace(status_code=400, headers={}), answer

    assert store.insert(task())
    calls.clear()
    client_of(store).meta.events.register("before-call.dynamodb.BatchGetItem", refuse)
    assert store.get_many([KEY, KEY._replace(id="other")]) == {"one": task()}
    assert calls["GetItem"] == 2


@pytest.mark.parametrize("timeout", [ConnectTimeoutError, ReadTimeoutError])
def test_what_dynamodb_does_not_answer_is_unavailable(
    store: Store, timeout: type[ReadTimeoutError | ConnectTimeoutError]
) -> None:
    def happen(**_: Any) -> None:
        raise timeout(endpoint_url="https://dynamodb")

    client_of(store).meta.events.register("before-call.dynamodb", happen)
    for verb in verbs(store):
        with pytest.raises(AwsUnavailable, match=r"^DynamoDB, table 'duebell': .*imeout"):
            verb()


def test_bounds_that_dynamodb_refuses_are_not_asked_for(store: Store, calls: Calls) -> None:
    # moto takes a BETWEEN whose bounds are the wrong way round; DynamoDB answers with a ValidationException.
    assert list(store.queued(0, after=SOON, before=NOON)) == []
    assert not calls
    assert list(store.queued(0, after=SOON, before=SOON)) == []
    assert calls == {"Query": 1}


# The caller's own.


def test_the_callers_session_is_used(session: boto3.Session, calls: Calls) -> None:
    store = Backend.connect(Settings(), session).store
    assert client_of(store).meta.region_name == session.region_name
    for verb in verbs(store):
        calls.clear()
        verb()
        assert calls.total() >= 1


def test_two_sessions_do_not_meet() -> None:
    with mock_aws():
        # Given the same table in two regions
        near, far = boto3.Session(region_name=REGION), boto3.Session(region_name="us-east-1")
        for each in (near, far):
            create_table(each)
        # When a task is written in one
        assert Backend.connect(Settings(), near).store.insert(task())
        # Then it is not in the other, whichever is asked last
        assert Backend.connect(Settings(), far).store.get(0, "one") is None
        assert Backend.connect(Settings(), near).store.get(0, "one") == task()


def test_without_a_region_nothing_can_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    with pytest.raises(InvalidSettings, match="AWS_REGION: is not set: name the region that duebell is"):
        Backend.connect(Settings())


def test_an_aws_setting_that_cannot_be_right_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "nowhere")
    with pytest.raises(InvalidSettings, match="AWS settings: Invalid endpoint: nowhere"):
        Backend.connect(Settings())


def test_making_a_backend_makes_no_call(session: boto3.Session, calls: Calls) -> None:
    Backend.connect(Settings(table="other"), session)
    assert not calls
