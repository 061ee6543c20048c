"""Restores the parts by which the bell wakes the worker: rule, target and permission, or a schedule."""

import json
from collections.abc import Callable
from typing import Any

from .bell import BellKind
from .expression import FAR_SENTINEL, SENTINEL

#: The description of rules and schedules in the templates.
DESCRIPTION = "Rings when the earliest task of the duebell queue is due. Set by duebell; do not edit."

#: The id of the permission that is put back.
STATEMENT = "duebell-rule"

#: As in the templates: an event that did not reach the worker is sent again for a day.
_RETRIES = {"MaximumEventAgeInSeconds": 86400, "MaximumRetryAttempts": 185}


def put_back(client: Callable[..., Any], kind: BellKind, name: str, function: str) -> list[str]:
    """Put back the parts of this bell that somebody deleted. Returns the names of these parts.

    `client` makes clients; `function` is DUEBELL_FUNCTION. A bell that is put back never rings until the
    queue is armed. Raises the SDK's errors; ResourceNotFoundException: the function is gone too.
    """
    restore = _put_back_rule if kind is BellKind.RULE else _put_back_schedule
    return restore(client, name, function)


def _put_back_schedule(client: Callable[..., Any], name: str, function: str) -> list[str]:
    schedules, functions = client("scheduler"), client("lambda")
    try:
        schedules.get_schedule(Name=name)
    except schedules.exceptions.ResourceNotFoundException:
        worker = functions.get_function_configuration(FunctionName=function)
        _, partition, _, region, account, _ = worker["FunctionArn"].split(":", 5)
        schedules.create_schedule(
            Name=name,
            Description=DESCRIPTION,
            ScheduleExpression=FAR_SENTINEL,
            ScheduleExpressionTimezone="UTC",
            FlexibleTimeWindow={"Mode": "OFF"},
            State="ENABLED",
            Target={
                "Arn": worker["FunctionArn"],
                "RoleArn": _role_of_schedule(client("iam"), worker["Role"].rpartition("/")[2]),
                "RetryPolicy": _RETRIES,
                "DeadLetterConfig": {"Arn": f"arn:{partition}:sqs:{region}:{account}:{name}-lost-rings"},
            },
        )
        return ["the schedule"]
    return []


def _role_of_schedule(iam: Any, worker: str) -> str:
    """The ARN of the role that the worker's role may pass to the schedule.

    Raises LookupError if there is none.
    """
    for policy in iam.list_role_policies(RoleName=worker)["PolicyNames"]:
        document = iam.get_role_policy(RoleName=worker, PolicyName=policy)["PolicyDocument"]
        for statement in document["Statement"]:
            if statement.get("Sid") == "PassBellRole":
                return str(statement["Resource"])
    raise LookupError(f"the role {worker} may pass no role to a schedule")


def _put_back_rule(client: Callable[..., Any], rule: str, function: str) -> list[str]:
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
            "RetryPolicy": _RETRIES,
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
    conditions = (statement.get("Condition", {}) for statement in policy["Statement"])
    return any(one.get("ArnLike", {}).get("AWS:SourceArn") == rule for one in conditions)
