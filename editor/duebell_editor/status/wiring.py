"""The way from the rule to the worker: the rule, its target, and the permission to invoke the function.

CloudFormation does not see when one of them is deleted, so a deployment alone would not bring it back.
"""

import json
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from duebell_shared.backend import Backend
from duebell_shared.bell.bell import BellKind
from duebell_shared.bell.expression import SENTINEL
from duebell_shared.bell.function import qualifier_of
from duebell_shared.errors import AwsRefused, DuebellError
from duebell_shared.quoting import in_brief, quoted

from .health import Problem, ProblemKind

__all__ = ["REWIRED", "permission_problem", "restore"]

#: The problems that `restore` solves.
REWIRED = {ProblemKind.RULE, ProblemKind.NO_TARGET, ProblemKind.NO_PERMISSION}

#: As the templates have them.
_DESCRIPTION = "Rings when the earliest task of the duebell queue is due. Set by duebell; do not edit."
_RETRIES = {"MaximumEventAgeInSeconds": 86400, "MaximumRetryAttempts": 185}


def permission_problem(backend: Backend) -> Problem | None:
    """The problem of a rule that may not invoke the worker's function.

    None as well if the function is not known, or may not be looked at.
    """
    if not backend.settings.function or backend.client is None or backend.rule.kind is not BellKind.RULE:
        return None
    functions = backend.client("lambda")
    try:
        function = functions.get_function_configuration(FunctionName=backend.settings.function)
        is_permitted = _is_permitted(functions, function["FunctionArn"], backend.rule.read().arn)
    except (ClientError, BotoCoreError, DuebellError):
        return None
    if is_permitted:
        return None
    return Problem(
        kind=ProblemKind.NO_PERMISSION,
        what=f"rule {quoted(backend.rule.name)} may not invoke the worker's function, so nothing runs",
        way_out="`duebell doctor --fix` or `duebell deploy` gives the permission",
        mendable=True,
    )


def restore(backend: Backend) -> tuple[str, ...]:
    """Put back the rule, its target and the permission, where they are missing. Returns what was missing.

    Nothing is made for a function that does not exist: then the name may be wrong. A schedule is left as it
    is, since its target and role are part of it. Raises AwsRefused.
    """
    if backend.client is None or backend.rule.kind is not BellKind.RULE:
        return ()
    events, functions = backend.client("events"), backend.client("lambda")
    name, missing = backend.rule.name, []
    try:
        named = backend.settings.function or name
        function = functions.get_function_configuration(FunctionName=named)["FunctionArn"]
        try:
            arn = events.describe_rule(Name=name)["Arn"]
        except events.exceptions.ResourceNotFoundException:
            arn = events.put_rule(
                Name=name, ScheduleExpression=SENTINEL, State="ENABLED", Description=_DESCRIPTION
            )["RuleArn"]
            missing.append("rule")
        if not events.list_targets_by_rule(Rule=name)["Targets"]:
            queue = arn.replace(":events:", ":sqs:").replace(":rule/", ":") + "-lost-rings"
            target = {"RetryPolicy": _RETRIES, "DeadLetterConfig": {"Arn": queue}}
            events.put_targets(Rule=name, Targets=[{"Id": "worker", "Arn": function, **target}])
            missing.append("target")
        if not _is_permitted(functions, function, arn):
            functions.add_permission(
                **_named(function),
                StatementId=f"duebell-{name}",
                Action="lambda:InvokeFunction",
                Principal="events.amazonaws.com",
                SourceArn=arn,
            )
            missing.append("permission")
    except (ClientError, BotoCoreError) as error:
        raise AwsRefused(
            f"rule {quoted(name)}, its target or its permission cannot be put back: {in_brief(error)}. Let "
            f"someone run `duebell deploy` who may change the stack"
        ) from error
    return tuple(missing)


def _is_permitted(functions: Any, function: str, rule: str) -> bool:
    """Tell whether the function's policy lets the rule invoke it. Raises ClientError, BotoCoreError."""
    try:
        policy = json.loads(functions.get_policy(**_named(function))["Policy"])
    except functions.exceptions.ResourceNotFoundException:
        return False
    return any(rule in json.dumps(one) and one.get("Effect") == "Allow" for one in policy["Statement"])


def _named(function: str) -> dict[str, str]:
    """The arguments that name the function by this ARN, and its alias if there is one."""
    qualifier = qualifier_of(function)
    if qualifier == "$LATEST":
        return {"FunctionName": function}
    return {"FunctionName": function.removesuffix(f":{qualifier}"), "Qualifier": qualifier}
