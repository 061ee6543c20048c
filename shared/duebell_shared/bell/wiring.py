"""What lets the rule wake the worker: the rule itself, its target, and the permission to invoke it."""

import json
from collections.abc import Callable
from typing import Any

from .expression import SENTINEL

__all__ = ["DESCRIPTION", "STATEMENT", "is_permitted", "put_back"]

#: The description of rules and schedules in the templates.
DESCRIPTION = "Rings when the earliest task of the duebell queue is due. Set by duebell; do not edit."

#: The id of the permission that is put back.
STATEMENT = "duebell-rule"


def put_back(client: Callable[..., Any], rule: str, function: str) -> list[str]:
    """Put back what somebody deleted of the rule, its target and its permission; returns the names of these.

    `client` makes clients; `function` is DUEBELL_FUNCTION. A rule that is put back rings never, until the
    queue is armed. Raises the SDK's errors; with a ResourceNotFoundException, the function is gone as well.
    """
    events, functions = client("events"), client("lambda")
    missing = []
    try:
        arn = events.describe_rule(Name=rule)["Arn"]
    except events.exceptions.ResourceNotFoundException:
        made = events.put_rule(
            Name=rule, ScheduleExpression=SENTINEL, State="ENABLED", Description=DESCRIPTION
        )
        arn = made["RuleArn"]
        missing.append("the rule")

    _, partition, _, region, account, _ = arn.split(":", 5)
    worker = f"arn:{partition}:lambda:{region}:{account}:function:{function}"
    if all(target["Arn"] != worker for target in events.list_targets_by_rule(Rule=rule)["Targets"]):
        lost_rings = f"arn:{partition}:sqs:{region}:{account}:{rule}-lost-rings"
        target = {
            "Id": "worker",
            "Arn": worker,
            "RetryPolicy": {"MaximumEventAgeInSeconds": 86400, "MaximumRetryAttempts": 185},
            "DeadLetterConfig": {"Arn": lost_rings},
        }
        events.put_targets(Rule=rule, Targets=[target])
        missing.append("its target")

    if not is_permitted(functions, worker, arn):
        functions.add_permission(
            FunctionName=worker,
            StatementId=STATEMENT,
            Action="lambda:InvokeFunction",
            Principal="events.amazonaws.com",
            SourceArn=arn,
        )
        missing.append("its permission to invoke the worker")
    return missing


def is_permitted(functions: Any, worker: str, rule: str) -> bool:
    """Tell whether the function's policy lets the rule invoke it; both are ARNs. Raises as `put_back`."""
    try:
        policy = json.loads(functions.get_policy(FunctionName=worker)["Policy"])
    except functions.exceptions.ResourceNotFoundException:
        return False
    return any(_source_of(statement) == rule for statement in policy["Statement"])


def _source_of(statement: dict[str, dict[str, dict[str, str]]]) -> str:
    """The ARN of the one resource that a permission of a function is for."""
    return statement.get("Condition", {}).get("ArnLike", {}).get("AWS:SourceArn", "")
