"""The findings of verify on an AWS or a scheduler that is not as duebell needs it."""

import json
from collections.abc import Callable, Iterable
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

#: The results that are expected of these checks, and words of what they found.
Told = dict[str, tuple[Result, str]]


def changing(account: Account, operation: str, change: Callable[[Any], None]) -> None:
    """Have AWS take another body of this operation for verify's."""

    def change_it(params: dict[str, Any]) -> None:
        body = json.loads(params["body"])
        change(body)
        params["body"] = json.dumps(body).encode()

    account.on(operation, change_it)


def ignored_conditions(account: Account) -> Told:
    """Then no swap is tried on the record."""

    def ignore(body: Any) -> None:
        body["ConditionExpression"] = f"attribute_not_exists(nothing) OR {body['ConditionExpression']}"

    Editor(backend=account.backend).ensure_armed()
    changing(account, "PutItem", ignore)
    left_alone = (Result.SKIPPED, "so the record is left alone")
    taken = (Result.FAILED, "an id that is taken: True, and False is right")
    return {"insert": taken, "swaps-lost": left_alone, "rule": left_alone}


def refused_batches(account: Account) -> Told:
    account.refuse("BatchExecuteStatement", "ValidationException")
    names = ("insert-many", "claim-many", "change-many", "delete-many")
    return dict.fromkeys(names, (Result.SLOWER, "one by one"))


def batches_that_return_nothing(account: Account) -> Told:
    def return_nothing(body: Any) -> None:
        for statement in body["Statements"]:
            statement["Statement"] = statement["Statement"].replace(" RETURNING ALL NEW *", "")

    changing(account, "BatchExecuteStatement", return_nothing)
    return {"claim-many": (Result.SLOWER, "RETURNING was not answered")}


def a_rule_about_to_ring(account: Account) -> Told:
    Editor(backend=account.backend).add("act", due=timedelta(seconds=100))
    return {"rule": (Result.SKIPPED, "the rule is to ring within minutes, and is not set meanwhile")}


def deletes_whatever_is_there(account: Account) -> Told:
    def forget_the_rev(body: Any) -> None:
        if "#rev" in body.get("ExpressionAttributeNames", {}):
            for part in ("ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues"):
                del body[part]

    changing(account, "DeleteItem", forget_the_rev)
    told = "a task that was changed since: True, and False is right"
    return {"delete": (Result.FAILED, told), "delete-many": (Result.FAILED, " is right")}


def an_index_that_is(says: str, result: Result, found: str) -> Callable[[Account], Told]:
    def answer(account: Account) -> Told:
        error = {"Error": {"Code": "ValidationException", "Message": says}}
        account.on("Query", lambda params: (400, error) if b"past-index" in params["body"] else None)
        return {"history": (result, found)}

    return answer


def assert_told(found: Any, told: Told) -> None:
    for name, (result, words) in told.items():
        assert (found[name].result, words in found[name].found) == (result, True), found[name]
        assert found[name].way_out or result is Result.SKIPPED


@pytest.mark.parametrize(
    ("fault", "besides"),
    [
        (ignored_conditions, None),
        (refused_batches, ()),
        (batches_that_return_nothing, ()),
        (a_rule_about_to_ring, None),
        (deletes_whatever_is_there, None),
        (
            an_index_that_is("The table does not have the specified index", Result.FAILED, "no past-index"),
            ("status",),
        ),
        (
            an_index_that_is(
                "Cannot read from backfilling global secondary index", Result.SKIPPED, "still building"
            ),
            ("status",),
        ),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_a_fault_is_told_with_what_to_do_and_nothing_is_left(
    account: Account, fault: Callable[[Account], Told], besides: Iterable[str] | None
) -> None:
    told = fault(account)
    record, items = account.backend.armer.read(), account.items()
    found = account.verify(probe=False)
    assert_told(found, told)
    if besides is not None:  # all other checks go on
        assert all_ok(found, *told, *besides)
    if told.get("rule", (Result.OK, ""))[0] is Result.SKIPPED:
        assert account.backend.armer.read() == record
    assert account.items() == items


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
    assert_told(found, {"probe": (Result.FAILED, "no run has done the task: still scheduled at 12:")})
    assert account.items() == []


def test_a_run_that_was_at_work_shows_nothing_of_the_rule(account: Account) -> None:
    # Given a run that holds the lanes when the probe is added, and starts it
    account.rings, store, clock = False, account.backend.store, account.clock
    until = clock() + timedelta(minutes=5)
    account.backend.armer.change(lambda record: record.claimed("run-at-work", now=clock(), until=until))

    def start_the_probe() -> None:
        for key in (key for lane in range(4) for key in store.queued(lane, before=clock())):
            claimed = store.claim(key, run="run-at-work", now=clock(), status=Status.SCHEDULED)
            assert claimed
            ended = claimed.done(now=clock(), keep=RetentionPolicy(retention=timedelta(days=1)))
            store.save(claimed, ended)

    account.during = start_the_probe
    found = account.check("probe")
    # Then it is not said that the rule rang
    assert found.result is Result.SKIPPED
    assert "already started it, so the rule did not have to ring" in found.found


def test_without_a_function_the_rule_sees_to_what_is_due_at_once(account: Account) -> None:
    account.settings = type(account.settings)()
    found = account.verify()
    told = {
        "call": (Result.SLOWER, "DUEBELL_FUNCTION is not set here, so no worker is called"),
        "at-once": (Result.SLOWER, "no direct call was made"),
    }
    assert_told(found, told)
    assert found["probe"].result is Result.OK
