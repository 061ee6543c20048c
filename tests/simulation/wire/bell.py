"""EventBridge and Lambda in memory, as far as duebell uses them."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.simulation.aws import Aws

from .refused import Refused, invalid


class EventBridge:
    """One rule, with one target. PutRule replaces what it is not given, as AWS's does."""

    def __init__(self, aws: Aws, rule: str) -> None:
        self._aws = aws
        self._rule = rule
        self._kept = {"State": "ENABLED", "Description": "the one rule"}
        self._operations: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "DescribeRule": self._describe,
            "PutRule": self._put,
            "ListTargetsByRule": lambda _: {"Targets": [{"Id": "worker", "Arn": "arn:simulated"}]},
        }

    def answer(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        if operation not in self._operations:
            raise Refused("UnknownOperationException", operation)
        if request.get("Name", request.get("Rule")) != self._rule:
            raise Refused("ResourceNotFoundException", "the rule does not exist")
        return self._operations[operation](request)

    def _describe(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return {"Name": self._rule, "ScheduleExpression": self._aws.expression, **self._kept}

    def _put(self, request: Mapping[str, Any]) -> dict[str, Any]:
        if odd := request.keys() - {"Name", "ScheduleExpression", "State", "Description", "RoleArn"}:
            raise invalid(f"PutRule with {', '.join(sorted(odd))} is not understood")
        self._kept = {"State": request.get("State", "ENABLED")}
        if description := request.get("Description"):
            self._kept["Description"] = description
        self._aws.put_rule(request["ScheduleExpression"])
        return {"RuleArn": "arn:simulated"}


class Lambda:
    """The worker's Lambda, which is invoked and not waited for."""

    def __init__(self, aws: Aws) -> None:
        self._aws = aws

    def answer(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        if operation != "Invoke" or request.get("InvocationType") != "Event":
            raise Refused("UnknownOperationException", operation)
        self._aws.invoke(json.loads(request["Payload"]))
        return {}
