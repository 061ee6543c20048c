"""What lets the rule wake the worker: the rule itself, its target, and the permission to invoke it."""

import json
from typing import TYPE_CHECKING

from .expression import SENTINEL

if TYPE_CHECKING:
    import boto3

__all__ = ["DESCRIPTION", "STATEMENT", "put_back"]

#: The description of rules and schedules in the templates.
DESCRIPTION = "Rings when the earliest task of the duebell queue is due. Set by duebell; do not edit."

#: The id of the permission that is put back.
STATEMENT = "duebell-rule"


def put_back(session: "boto3.Session", rule: str, function: str) -> list[str]:
    """Put back what somebody deleted of the rule, its target and its permission; returns the names of these.

    `function` is DUEBELL_FUNCTION. A rule that is put back rings never, until the queue is armed. Raises the
    SDK's errors; with a ResourceNotFoundException, the function is gone as well.
    """
    events, functions = session.client("events"), session.client("lambda")
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
        events.put_targets(Rule=rule, Targets=[target])  # type: ignore[list-item]
        missing.append("its target")

    try:
        policy = json.loads(functions.get_policy(FunctionName=worker)["Policy"])
    except functions.exceptions.ResourceNotFoundException:
        policy = {"Statement": []}
    if all(_source_of(statement) != arn for statement in policy["Statement"]):
        functions.add_permission(
            FunctionName=worker,
            StatementId=STATEMENT,
            Action="lambda:InvokeFunction",
            Principal="events.amazonaws.com",
            SourceArn=arn,
        )
        missing.append("its permission to invoke the worker")
    return missing


def _source_of(statement: dict[str, dict[str, dict[str, str]]]) -> str:
    """The ARN of the one resource that a permission of a function is for."""
    return statement.get("Condition", {}).get("ArnLike", {}).get("AWS:SourceArn", "")
