"""EventBridge and Lambda as one simulated process calls them: what duebell uses of boto3's clients."""

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError

from duebell_shared.bell.bell import BellKind
from tests.support import SCHEDULED

from .aws import Aws
from .world import Process

__all__ = ["EventsClient", "LambdaClient", "SchedulerClient"]


class EventsClient:
    """What `Rule` uses of boto3's EventBridge client, as one process has it."""

    kind = BellKind.RULE
    busy = "ConcurrentModificationException"

    def __init__(self, aws: Aws, process: Process) -> None:
        self._aws = aws
        self._process = process
        self.meta = SimpleNamespace(region_name="simulated")

    def describe_rule(self, **_: Any) -> dict[str, Any]:
        return self._call(
            "DescribeRule",
            lambda: {"ScheduleExpression": self._aws.expressions[self.kind], "State": "ENABLED"},
        )

    def put_rule(self, **arguments: Any) -> dict[str, Any]:
        def put() -> dict[str, Any]:
            self._aws.put_rule(arguments["ScheduleExpression"], self.kind)
            return {}

        self._aws.may_set_late(self._process, put)
        return self._call(f"PutRule {arguments['ScheduleExpression']}", put)

    def list_targets_by_rule(self, **_: Any) -> dict[str, Any]:
        return self._call("ListTargetsByRule", lambda: {"Targets": [{}]})

    def _call(self, what: str, effect: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        busy = ClientError({"Error": {"Code": self.busy}}, "PutRule")

        def there() -> dict[str, Any]:
            if self.kind in self._aws.removed:
                raise ClientError({"Error": {"Code": "ResourceNotFoundException"}}, what)
            return effect()

        failed: Any = {"Error": {"Code": "503"}, "ResponseMetadata": {"HTTPStatusCode": 503}}
        try:
            return self._aws.call(
                self._process,
                what,
                there,
                time_out=4,
                refusal=busy,
                service="events",
                failure=ClientError(failed, "PutRule"),
            )
        except TimeoutError:
            raise ReadTimeoutError(endpoint_url="simulated") from None


class SchedulerClient(EventsClient):
    """What `RingSchedule` uses of boto3's client of EventBridge Scheduler, as one process has it."""

    kind = BellKind.SCHEDULE
    busy = "ConflictException"

    def get_schedule(self, **arguments: Any) -> dict[str, Any]:
        return {**self.describe_rule(**arguments), "Target": SCHEDULED}

    def update_schedule(self, **arguments: Any) -> dict[str, Any]:
        return self.put_rule(**arguments)


class LambdaClient:
    """What `Function` uses of boto3's Lambda client, as one process has it."""

    def __init__(self, aws: Aws, process: Process) -> None:
        self._aws = aws
        self._process = process

    def invoke(self, *, Payload: bytes, **_: Any) -> dict[str, Any]:  # noqa: N803 (as boto3 has it)
        throttled = ClientError({"Error": {"Code": "TooManyRequestsException"}}, "Invoke")
        event = json.loads(Payload)
        what = f"Invoke {Payload.decode()}"
        try:
            self._aws.call(
                self._process,
                what,
                lambda: self._aws.invoke(event),
                time_out=3,
                refusal=throttled,
                service="lambda",
            )
        except TimeoutError:
            raise ReadTimeoutError(endpoint_url="simulated") from None
        return {}
