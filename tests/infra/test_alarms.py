"""The reasons why the alarms in CloudWatch tell nobody, as the doctor finds them."""

from collections.abc import Mapping
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from duebell_infra.deploy.stack import template_text
from duebell_shared.aws.alarms import Alarms, Silence
from duebell_shared.backend import Backend
from duebell_shared.settings import Settings

TOPIC, OTHER = (f"arn:aws:sns:eu-central-1:123456789012:{name}" for name in ("oncall", "other"))
FUNCTION = "arn:aws:lambda:eu-central-1:123456789012:function:pager"

#: A topic's subscribers: one who has agreed, and one who was only asked.
AGREED, ASKED = "arn:aws:sns:eu-central-1:123456789012:oncall:1234", "PendingConfirmation"


def alarm(*targets: str, of: str = "shop", enabled: bool = True) -> dict[str, Any]:
    dimensions = [{"Name": "Scheduler", "Value": of}]
    return {"AlarmActions": list(targets), "ActionsEnabled": enabled, "Dimensions": dimensions}


class FakeAws:
    """CloudWatch with these alarms, and SNS with these subscriptions, in pages of one."""

    def __init__(self, alarms: list[dict[str, Any]], subscribed: Mapping[str, list[str]]) -> None:
        self._alarms, self._subscribed = alarms, subscribed
        self._paging = ""

    def __call__(self, service: str) -> "FakeAws":
        return self

    def get_paginator(self, operation: str) -> "FakeAws":
        self._paging = operation
        return self

    def paginate(self, **given: str) -> list[dict[str, Any]]:
        if self._paging == "describe_alarms":
            assert given == {"AlarmNamePrefix": "shop-"}
            return [{"MetricAlarms": [one]} for one in self._alarms]
        return [{"Subscriptions": [{"SubscriptionArn": one}]} for one in self._subscribed[given["TopicArn"]]]


@pytest.mark.parametrize(
    ("alarms", "subscribed", "silence"),
    [
        ([], {}, Silence.NO_ALARMS),
        ([alarm(TOPIC, of="shop-2")], {TOPIC: [AGREED]}, Silence.NO_ALARMS),
        ([alarm(), alarm()], {}, Silence.NO_TARGET),
        ([alarm(TOPIC, enabled=False)], {TOPIC: [AGREED]}, Silence.NO_TARGET),
        ([alarm(TOPIC)], {TOPIC: []}, Silence.UNCONFIRMED),
        ([alarm(TOPIC)], {TOPIC: [ASKED]}, Silence.UNCONFIRMED),
        ([alarm(TOPIC)], {TOPIC: [ASKED, AGREED]}, None),
        ([alarm(TOPIC, OTHER)], {TOPIC: [AGREED], OTHER: [ASKED]}, None),
        ([alarm(), alarm(FUNCTION)], {}, None),
        ([alarm(TOPIC, of="shop-lost-rings")], {TOPIC: [AGREED]}, None),
    ],
)
def test_the_reason_why_nobody_is_told(
    alarms: list[dict[str, Any]], subscribed: Mapping[str, list[str]], silence: Silence | None
) -> None:
    assert Alarms("shop", FakeAws(alarms, subscribed)).silence() is silence


@pytest.mark.parametrize(
    "error",
    [
        ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "DescribeAlarms"),
        EndpointConnectionError(endpoint_url="https://there"),
    ],
)
def test_what_may_not_be_seen_is_not_said(error: Exception) -> None:
    def refusing(_: str) -> Any:
        raise error

    assert Alarms("shop", refusing).silence() is None


def test_each_alarm_of_the_template_is_known_as_its_schedulers(template: Any) -> None:
    own = {"Function", "Name", "HeartbeatRule"}
    own |= {f"{queue}.QueueName" for queue in ("LostRings", "FailedRuns", "IntakeDeadLetters")}
    alarms = [one for one in template["Resources"].values() if one["Type"] == "AWS::CloudWatch::Alarm"]
    assert len(alarms) >= 7
    for one in alarms:
        [dimension] = one["Properties"]["Dimensions"]
        [value] = dimension["Value"].values()
        assert (".".join(value) if isinstance(value, list) else value) in own
    assert "QueueName: !Sub ${Name}-lost-rings" in template_text()
    assert "QueueName: !Sub ${Name}-failed-runs" in template_text()


@pytest.mark.parametrize(
    ("endpoint", "is_there"),
    [(None, True), ("http://127.0.0.1:4566", False), ("http://localhost:4566", False)],
)
def test_an_aws_on_this_machine_has_none(
    endpoint: str | None, is_there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    session = boto3.Session("key", "secret", region_name="eu-central-1")
    backend = Backend.connect(Settings(), session)
    assert (backend.alarms is not None) is is_there
