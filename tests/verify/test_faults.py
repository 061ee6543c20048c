"""What a verify says of an AWS, or of a scheduler, that is not as duebell needs it."""

import json
from datetime import timedelta
from typing import Any

import boto3
import pytest

from duebell import Editor
from duebell_infra.verify import Result
from duebell_shared.tasks.status import RetentionPolicy, Status
from tests.support import REGION
from tests.verify.account import Account, all_ok

pytestmark = [pytest.mark.moto, pytest.mark.slow]

BATCHES = ("insert-many", "claim-many", "change-many", "delete-many")


def without_conditions(params: dict[str, Any]) -> None:
    """A DynamoDB that takes a condition for a comment."""
    body = json.loads(params["body"])
    body["ConditionExpression"] = f"attribute_not_exists(nothing) OR {body['ConditionExpression']}"
    params["body"] = json.dumps(body).encode()


def test_a_dynamodb_that_ignores_conditions_is_kept_from_the_record(account: Account) -> None:
    # Given such a DynamoDB, and a record
    Editor(backend=account.backend).ensure_armed()
    account.on("PutItem", without_conditions)
    before = account.backend.armer.read()
    # When it is verified
    found = account.verify(probe=False)
    # Then that is found on verify's own tasks, and no swap is tried on the record
    assert found["insert"].result is Result.FAILED
    assert "an id that is taken: True, and False is right" in found["insert"].found
    assert found["insert"].way_out
    for name in ("swaps-lost", "rule"):
        assert found[name].result is Result.SKIPPED
        assert "so the record is left alone" in found[name].found
    assert account.backend.armer.read() == before
    assert account.items() == []


def test_batches_that_are_not_taken_are_the_slower_path(account: Account) -> None:
    account.refuse("BatchExecuteStatement", "ValidationException")

    found = account.verify(probe=False)

    for name in BATCHES:
        assert found[name].result is Result.SLOWER, found[name]
        assert found[name].found.startswith("one by one")
        assert found[name].way_out
    assert all_ok(found, *BATCHES)


def test_a_batch_that_does_not_return_what_it_claimed_is_the_slower_path(account: Account) -> None:
    def nothing_returned(params: dict[str, Any]) -> None:
        body = json.loads(params["body"])
        for statement in body["Statements"]:
            statement["Statement"] = statement["Statement"].replace(" RETURNING ALL NEW *", "")
        params["body"] = json.dumps(body).encode()

    account.on("BatchExecuteStatement", nothing_returned)

    found = account.verify(probe=False)

    assert found["claim-many"].result is Result.SLOWER
    assert found["claim-many"].found.endswith("RETURNING was not answered")
    assert found["change-many"].result is Result.OK


def test_a_rule_that_is_not_read_as_it_was_set_is_told(account: Account) -> None:
    def cut_short(params: dict[str, Any]) -> None:
        body = json.loads(params["body"])
        body["ScheduleExpression"] = "cron(0 0 1 1 ? 1971)"
        params["body"] = json.dumps(body).encode()

    account.on("PutRule", cut_short)

    found = account.check("rule", probe=False)

    assert found.result is Result.FAILED
    assert found.found == "the rule was set to ring at never, and is read as cron(0 0 1 1 ? 1971)"


def test_a_rule_that_is_about_to_ring_is_left_alone(account: Account) -> None:
    editor = Editor(backend=account.backend)
    editor.add("act", due=timedelta(seconds=100))
    before = account.backend.armer.read()

    found = account.verify(probe=False)

    assert (found["rule"].result, found["rule"].way_out) == (Result.SKIPPED, "verify again when less is due")
    assert account.backend.armer.read() == before


def test_a_disabled_rule_is_told_and_not_waited_for(account: Account) -> None:
    boto3.client("events", region_name=REGION).disable_rule(Name="duebell")

    found = account.verify()

    assert found["status"].result is Result.FAILED
    assert "aws events enable-rule" in str(found["status"].way_out)
    assert found["rule"].result is Result.OK  # it can be set, and stays disabled
    for name in ("at-once", "probe"):
        assert found[name].found == "the rule is disabled, so nothing runs"
    assert not Editor(backend=account.backend).status().enabled
    assert account.waited == []


def test_a_rule_that_never_rings_fails_the_probe(account: Account) -> None:
    account.rings = False

    found = account.verify()

    assert found["probe"].result is Result.FAILED
    assert "no run has done the task: still scheduled" in found["probe"].found
    assert account.items() == []


def test_a_run_that_was_at_work_shows_nothing_of_the_rule(account: Account) -> None:
    # Given a run that holds the lanes when the probe is added
    armer, clock = account.backend.armer, account.clock
    account.rings = False

    def claim_all(params: dict[str, Any]) -> None:
        if b"-probe" in params["body"] and b"attribute_not_exists" in params["body"]:
            until = clock() + timedelta(minutes=5)
            armer.change(lambda record: record.claimed("run-at-work", now=clock(), until=until))

    account.on("PutItem", claim_all)

    def start_the_probe() -> None:
        for lane in range(4):
            for key in account.backend.store.queued(lane, before=clock()):
                given = {"run": "run-at-work", "now": clock(), "status": Status.SCHEDULED}
                claimed = account.backend.store.claim(key, **given)  # type: ignore[arg-type]
                assert claimed
                ended = claimed.done(now=clock(), keep=RetentionPolicy(retention=timedelta(days=1)))
                account.backend.store.save(claimed, ended)

    account.during = start_the_probe
    # When that starts it
    found = account.check("probe")
    # Then it is not said that the rule rang
    assert found.result is Result.SKIPPED
    assert "already started it, so the rule did not have to ring" in found.found


def test_without_a_function_the_rule_sees_to_what_is_due_at_once(account: Account) -> None:
    account.settings = type(account.settings)()

    found = account.verify()

    assert found["call"].result is Result.SLOWER
    assert "DUEBELL_FUNCTION is not set" in found["call"].found
    assert found["at-once"].result is Result.SLOWER
    assert "no direct call was made" in found["at-once"].found
    assert "DUEBELL_FUNCTION" in str(found["at-once"].way_out)
    assert found["probe"].result is Result.OK


@pytest.mark.parametrize(
    ("says", "result", "what", "way_out"),
    [
        ("The table does not have the specified index", Result.FAILED, "no past-index", "`duebell deploy`"),
        ("Cannot read from backfilling global secondary index", Result.SKIPPED, "still building", "wait"),
    ],
)
def test_a_past_index_that_cannot_be_read_is_told_with_the_way_out(
    account: Account, says: str, result: Result, what: str, way_out: str
) -> None:
    def without_it(params: dict[str, Any]) -> tuple[int, dict[str, Any]] | None:
        error = {"Error": {"Code": "ValidationException", "Message": says}}
        return (400, error) if b"past-index" in params["body"] else None

    account.on("Query", without_it)

    found = account.verify(probe=False)

    assert (found["history"].result, found["history"].lacks) == (result, None)
    assert what in found["history"].found
    assert str(found["history"].way_out).startswith(way_out)
    assert all_ok(found, "status", "history")
    assert account.items() == []


def test_a_dynamodb_that_deletes_whatever_is_there_is_told(account: Account) -> None:
    def without_the_rev(params: dict[str, Any]) -> None:
        body = json.loads(params["body"])
        if "#rev" in body.get("ExpressionAttributeNames", {}):
            for part in ("ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues"):
                del body[part]
        params["body"] = json.dumps(body).encode()

    account.on("DeleteItem", without_the_rev)

    found = account.verify(probe=False)

    assert found["delete"].result is Result.FAILED
    assert "a task that was changed since: True, and False is right" in found["delete"].found
    assert found["delete-many"].result is Result.FAILED


def test_a_transaction_that_stores_nothing_and_is_never_cancelled_is_told(account: Account) -> None:
    account.answer("TransactWriteItems", {})

    found = account.verify(probe=False)

    assert found["transaction"].result is Result.FAILED  # it was answered as made, and nothing is stored
    assert found["transaction-cancelled"].result is Result.FAILED
