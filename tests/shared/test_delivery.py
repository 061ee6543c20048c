"""Valid deliveries, and the permissions that their targets need."""

import json
from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import pytest

from duebell_shared.backoff import Backoff
from duebell_shared.deliveries.delivery import (
    Delivery,
    DeliverySecret,
    deliveries_in,
    delivery_of,
    target_of,
)
from duebell_shared.errors import InvalidSettings

QUEUE = "arn:aws:sqs:eu-central-1:123456789012:orders"
SECRET = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:signing-AbCdEf"
PARAMETER = "arn:aws:ssm:eu-west-1:123456789012:parameter/shop/signing"


@pytest.mark.parametrize(
    ("rest", "kind", "name", "iam_action"),
    [
        ("sqs:eu-central-1:123456789012:orders", "queue", "orders", "sqs:SendMessage"),
        ("sns:us-east-1:123456789012:news", "topic", "news", "sns:Publish"),
        ("events:us-east-1:123456789012:event-bus/default", "bus", "default", "events:PutEvents"),
        ("lambda:us-east-1:123456789012:function:f:live", "function", "f", "lambda:InvokeFunction"),
        ("states:us-east-1:123456789012:stateMachine:m", "state machine", "m", "states:StartExecution"),
    ],
)
def test_a_target_is_known_by_its_arn(rest: str, kind: str, name: str, iam_action: str) -> None:
    arn = f"arn:aws:{rest}"
    target = target_of(arn)
    assert (target.to, str(target.kind), target.name, target.kind.sends) == (arn, kind, name, iam_action)
    assert (target.region, target.account) == (rest.split(":")[1], "123456789012")
    assert Delivery(name="remind", to=arn).sent_as == ("envelope" if kind == "bus" else "payload")


@pytest.mark.parametrize("endpoint", ["https://events.eu-west-1.amazonaws.com", "http://127.0.0.1:4566"])
def test_a_bus_is_looked_at_by_its_arn_and_on_this_machine_by_its_name(endpoint: str) -> None:
    client, target = Mock(), target_of("arn:aws:events:eu-west-1:123456789012:event-bus/shop")
    client.meta.endpoint_url = endpoint
    target.kind.look(client, target)
    client.describe_event_bus.assert_called_once_with(Name="shop" if "127" in endpoint else target.to)


@pytest.mark.parametrize(
    ("to", "words"),
    [
        ("", "must be an ARN or an https URL"),
        ("arn:aws:sqs:eu-central-1:12345:orders", "account, 12 digits"),
        ("arn:aws:sqs:eu-central-1:123456789012:*", "is no ARN"),
        ("arn:aws:s3:eu-central-1:123456789012:bucket", "delivered to the service 's3'"),
        ("arn:aws:sqs::123456789012:orders", "must be like arn:aws:sqs:eu-central-1:123456789012:orders$"),
        ("arn:aws:sns::123456789012:orders", "must be like arn:aws:sns:eu-central-1:123456789012:orders$"),
        ("arn:aws:events:eu-west-1:123456789012:rule/x", ":eu-west-1:123456789012:event-bus/default$"),
        ("arn:aws:lambda:eu-west-1:123456789012:x", "no ARN of a function: .*:function:remind$"),
        ("arn:aws:states:eu-west-1:123456789012:x", "no ARN of a state machine: .*:stateMachine:reminding$"),
        ("arn:aws:ecs:eu-west-1:123456789012:x", "no ARN of a task definition: .*:task-definition/report:3$"),
        ("http://example.com/", "must be https"),
        ("https://exämple.com/", "percent-encode"),
        ("https://me:mine@example.com/", "without password and fragment, like https://example.com/hooks/due"),
        ("https://example.com/#a", "without password and fragment"),
        ("https:///hooks", "must be a URL"),
        ("https://example.com:0/", "must be a URL"),
        (7, "must be an ARN or an https URL, not 7"),
    ],
)
def test_what_is_no_target_is_refused_with_the_way_out(to: Any, words: str) -> None:
    with pytest.raises(InvalidSettings, match=words) as caught:
        target_of(to)
    assert caught.value.field == "to"


@pytest.mark.parametrize(
    ("arn", "iam_action"),
    [(SECRET, "secretsmanager:GetSecretValue"), (PARAMETER, "ssm:GetParameter")],
)
def test_a_secret_is_known_by_its_arn(arn: str, iam_action: str) -> None:
    secret = DeliverySecret.parse(arn)
    assert secret.reads == iam_action
    assert Delivery(name="a", to="https://example.com", secret=arn).permissions == [(iam_action, arn)]


@pytest.mark.parametrize("arn", ["hush", QUEUE, SECRET[:56], SECRET.replace("eu-central-1", ""), 7])
def test_what_is_no_secret_is_refused(arn: str) -> None:
    with pytest.raises(InvalidSettings, match=r"^secret: .* is no ARN"):
        DeliverySecret.parse(arn)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": ""}, "^name: "),
        ({"name": "duebell.x"}, "^name: .*reserved|duebell's own"),
        ({"form": "xml"}, "^form: Invalid enum value 'xml'"),
        ({"attempts": 0}, "^attempts: Expected `int` >= 1"),
        ({"on_failed": 5}, "^on_failed: "),
        ({"backoff": timedelta(minutes=1)}, "^backoff: Expected "),
        ({"secret": SECRET}, "^secret: is for an https URL only, and the kind of this target is queue"),
        ({"detail_type": "x"}, "^detail_type: is for an event bus only"),
        ({"to": "arn:aws:events:eu-west-1:123456789012:event-bus/x", "detail_type": ""}, "^detail_type: "),
    ],
)
def test_a_delivery_that_cannot_be_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidSettings, match=words):
        delivery_of({"name": "remind", "to": QUEUE, **given})


def test_deliveries_are_read_from_json_with_all_their_arguments() -> None:
    declared = {
        "remind": {"to": QUEUE},
        "tell": {
            "to": f"{QUEUE}.fifo",
            "form": "envelope",
            "attempts": 2,
            "backoff": {"first": 5, "longest": "PT10M", "factor": 3},
            "on_failed": "remind",
        },
    }
    assert deliveries_in(" ") == {}
    found = deliveries_in(json.dumps(declared))
    assert list(found) == ["remind", "tell"]
    assert found["remind"] == Delivery(name="remind", to=QUEUE)
    backoff = Backoff(first=timedelta(seconds=5), longest=timedelta(minutes=10), factor=3)
    assert found["tell"].backoff == backoff
    assert (found["tell"].sent_as, found["tell"].attempts) == ("envelope", 2)
    assert (found["remind"].on_failed, found["tell"].on_failed) == (None, "remind")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is no JSON"),
        ("[]", "must be a JSON object"),
        ('{"a": {"to": "x"}, "a": {}}', "twice"),
        ('{"a": "arn:aws:x"}', "'a' must be an object"),
        ('{"a": {}}', "the delivery 'a': .*missing required field `to`"),
        ('{"a": {"tow": "x"}}', "unknown field `tow`"),
        ('{"a": {"to": "https://x.com", "backoff": {"factor": 0}}}', "backoff: factor must be"),
        ('{"duebell.a": {"to": "https://x.com"}}', "duebell's own"),
    ],
)
def test_json_that_declares_none_is_refused_with_the_place(text: str, words: str) -> None:
    with pytest.raises(InvalidSettings, match=words) as caught:
        deliveries_in(text)
    assert caught.value.field == "DUEBELL_DELIVERIES"
