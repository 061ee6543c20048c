"""What a verify says of the queues for rings that were lost and runs that failed."""

from typing import Any

import boto3
import pytest
from msgspec.structs import replace

from duebell_infra.verify import Result
from tests.support import REGION
from tests.verify.account import Account

pytestmark = [pytest.mark.moto, pytest.mark.slow]


def test_messages_are_counted_and_left_there(account: Account) -> None:
    sqs = boto3.client("sqs", region_name=REGION)
    url = sqs.get_queue_url(QueueName="duebell-failed-runs")["QueueUrl"]
    for text in ("one", "two"):
        sqs.send_message(QueueUrl=url, MessageBody=text)

    found = account.verify()

    assert (found["failed-runs"].result, found["failed-runs"].found) == (
        Result.OK,
        "duebell-failed-runs: 2 messages",
    )
    assert "purge the queue when the cause is gone" in str(found["failed-runs"].way_out)
    assert account.messages("failed-runs") == 2


def test_a_target_without_a_dead_letter_queue_is_told(account: Account) -> None:
    function = f"arn:aws:lambda:{REGION}:123456789012:function:duebell"
    boto3.client("events", region_name=REGION).put_targets(
        Rule="duebell", Targets=[{"Id": "worker", "Arn": function}]
    )

    found = account.check("lost-rings", probe=False)

    assert found.result is Result.FAILED
    assert "has no dead-letter queue" in found.found


@pytest.mark.parametrize(
    "policy",
    [
        "",
        '{"Statement": {"Effect": "Deny", "Principal": "*", "Action": "sqs:SendMessage"}}',
        '{"Statement": [{"Effect": "Allow", "Principal": {"Service": ["sns.amazonaws.com"]}, '
        '"Action": "sqs:SendMessage"}]}',
        '{"Statement": [{"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, '
        '"Action": ["sqs:ReceiveMessage"]}]}',
    ],
)
def test_a_queue_that_eventbridge_may_not_send_to_is_told(account: Account, policy: str) -> None:
    attributes = {"ApproximateNumberOfMessages": "0", **({"Policy": policy} if policy else {})}
    account.answer("GetQueueAttributes", {"Attributes": attributes})

    found = account.check("lost-rings", probe=False)

    assert found.result is Result.FAILED
    assert "does not let events.amazonaws.com send" in found.found


def test_a_queue_that_is_gone_is_told(account: Account) -> None:
    sqs = boto3.client("sqs", region_name=REGION)
    sqs.delete_queue(QueueUrl=sqs.get_queue_url(QueueName="duebell-lost-rings")["QueueUrl"])

    found = account.check("lost-rings", probe=False)

    assert (found.result, found.found) == (Result.FAILED, "there is no queue duebell-lost-rings")


@pytest.mark.parametrize("has_config", [True, False])
def test_a_function_without_a_destination_is_told(account: Account, has_config: bool) -> None:
    if has_config:
        account.answer("GetFunctionEventInvokeConfig", {"DestinationConfig": {"OnFailure": {}}})
    else:
        account.refuse("GetFunctionEventInvokeConfig", "ResourceNotFoundException")

    found = account.check("failed-runs", probe=False)

    assert found.result is Result.FAILED
    assert "no destination" in found.found


def test_a_destination_of_another_kind_is_not_looked_into(account: Account) -> None:
    topic = f"arn:aws:sns:{REGION}:123456789012:failures"
    account.answer(
        "GetFunctionEventInvokeConfig", {"DestinationConfig": {"OnFailure": {"Destination": topic}}}
    )

    found = account.check("failed-runs", probe=False)

    assert (found.result, topic in found.found) == (Result.SKIPPED, True)


@pytest.mark.parametrize("function", ["duebell:live", None], ids=["as set", "as the rule has it"])
def test_a_worker_that_is_called_by_its_alias_has_the_settings_of_that(
    account: Account, function: str | None
) -> None:
    # Given an alias that the rule wakes
    arn = f"arn:aws:lambda:{REGION}:123456789012:function:duebell:live"
    boto3.client("events", region_name=REGION).put_targets(
        Rule="duebell", Targets=[{"Id": "worker", "Arn": arn}]
    )
    account.settings = replace(account.settings, function=function)
    asked: list[tuple[str, str]] = []

    def look(params: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        asked.append((params["url_path"].split("/")[3], params["query_string"]["Qualifier"]))
        destination = {"OnFailure": {"Destination": account.arn("failed-runs")}}
        return 200, {"DestinationConfig": destination}

    account.on("GetFunctionEventInvokeConfig", look)
    assert account.check("failed-runs", probe=False).result is Result.OK
    assert asked == [("duebell", "live")]
