"""The alarms of a scheduler in CloudWatch, and whether they notify anybody."""

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from .sqs import DEAD_LETTERS, DeadLetters

#: SNS returns this in place of the ARN if nobody has confirmed the subscription.
#: https://docs.aws.amazon.com/sns/latest/api/API_ListSubscriptionsByTopic.html
_PENDING = "PendingConfirmation"


class Silence(StrEnum):
    """The reason why nobody is notified."""

    NO_ALARMS = "there are no alarms"
    NO_TARGET = "the alarms tell nobody"
    UNCONFIRMED = "nobody whom the alarms tell has agreed to it"


class Alarms:
    """The alarms of the scheduler of this name. `connect` makes a client of a service, when it is needed."""

    def __init__(self, scheduler: str, connect: Callable[[str], Any]) -> None:
        self._scheduler = scheduler
        self._connect = connect

    def silence(self) -> Silence | None:
        """The reason why nobody is notified when tasks fail; None if somebody is, or if a call fails."""
        try:
            told = [alarm["AlarmActions"] if alarm["ActionsEnabled"] else [] for alarm in self._alarms()]
            targets = {target for targets in told for target in targets}
            if not told:
                return Silence.NO_ALARMS
            if not targets:
                return Silence.NO_TARGET
            return None if any(map(self._is_heard, sorted(targets))) else Silence.UNCONFIRMED
        except (BotoCoreError, ClientError):
            return None

    def _alarms(self) -> Iterator[Any]:
        """The alarms of this scheduler only: the name of another scheduler may begin with this name."""
        queues = (DeadLetters.LOST_RINGS, DeadLetters.FAILED_RUNS, DeadLetters.INTAKE + DEAD_LETTERS)
        own = {self._scheduler, *(f"{self._scheduler}-{part}" for part in (*queues, "heartbeat"))}
        pages = self._connect("cloudwatch").get_paginator("describe_alarms")
        for page in pages.paginate(AlarmNamePrefix=f"{self._scheduler}-"):
            for alarm in page["MetricAlarms"]:
                if not own.isdisjoint(one["Value"] for one in alarm["Dimensions"]):
                    yield alarm

    def _is_heard(self, target: str) -> bool:
        """Return False for a topic without a confirmed subscriber. Any other target counts as heard."""
        if ":sns:" not in target:
            return True
        pages = self._connect("sns").get_paginator("list_subscriptions_by_topic")
        subscribed = (one for page in pages.paginate(TopicArn=target) for one in page["Subscriptions"])
        return any(one["SubscriptionArn"] != _PENDING for one in subscribed)
