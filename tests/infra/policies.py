"""IAM policies as tests need them: read off the template, and enforced on every call of a session."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import boto3
from botocore.exceptions import ClientError

from tests.support import REGION

__all__ = ["ACCOUNT", "Guarded", "Statements", "granted", "statements_of", "worker_document"]

ACCOUNT = "123456789012"
VALUES = {"Name": "duebell", "AWS::Partition": "aws", "AWS::Region": REGION, "AWS::AccountId": ACCOUNT}

#: Most operations are allowed by an action of the same name.
NAMED_OTHERWISE = {
    "lambda:Invoke": "lambda:InvokeFunction",
    "sqs:ChangeMessageVisibilityBatch": "sqs:ChangeMessageVisibility",
    "sqs:SendMessageBatch": "sqs:SendMessage",
    "sns:PublishBatch": "sns:Publish",
}

#: Arguments with the ARN of what is called, by the service.
BY_ARN = {"sns": "TopicArn", "states": "stateMachineArn", "secretsmanager": "SecretId", "ssm": "Name"}

#: A batch of statements is allowed by what each of them does.
STATEMENT = re.compile(r'(INSERT INTO|UPDATE|DELETE FROM) "(?P<table>[^"]+)" ')
ALLOWED_BY = {
    "INSERT INTO": "dynamodb:PartiQLInsert",
    "UPDATE": "dynamodb:PartiQLUpdate",
    "DELETE FROM": "dynamodb:PartiQLDelete",
}

#: Conditions that hold unless the other one is asked for.
BY_DEFAULT = {"HasRule"}

Statements = list[dict[str, Any]]


def statements_of(document: Any, given: Mapping[str, Mapping[str, Sequence[str]]] = {}) -> Statements:
    """The statements as CloudFormation makes them with the parameters' defaults.

    given  conditions that hold, each with the lists that it is about, by their parameters
    """
    return [resolved for one in document["Statement"] if (resolved := _resolved(one, given)) is not None]


def worker_document(resources: Any) -> Any:
    """All that the worker's role is allowed: by itself, and by the policies that are for it."""
    document = resources["Role"]["Properties"]["Policies"][0]["PolicyDocument"]
    statements = list(document["Statement"])
    for one in resources.values():
        if one["Type"] == "AWS::IAM::Policy" and one["Properties"]["Roles"] == [{"Ref": "Role"}]:
            added = one["Properties"]["PolicyDocument"]["Statement"]
            if "Condition" in one:
                added = [{"Fn::If": [one["Condition"], each, {"Ref": "AWS::NoValue"}]} for each in added]
            statements += added
    return {**document, "Statement": statements}


def granted(statements: Statements) -> set[tuple[str, str]]:
    """Each action on each resource that the statements allow."""
    return {
        (action, resource)
        for statement in statements
        for action in _listed(statement["Action"])
        for resource in _listed(statement["Resource"])
    }


class Guarded:
    """A session that makes only the calls that the statements allow, and remembers which it made."""

    def __init__(self, statements: Statements) -> None:
        self._granted = granted(statements)
        self.made: set[tuple[str, str]] = set()
        self.session = boto3.Session(region_name=REGION)
        self.session.events.register("before-parameter-build", self._check)

    def _check(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        service = model.service_model.signing_name
        for action, resource in _wanted(service, model.name, params):
            if (action, resource) not in self._granted:
                says = f"User: someone is not authorized to perform: {action} on resource: {resource}"
                error = {"Error": {"Code": "AccessDeniedException", "Message": says}}
                raise ClientError(error, model.name)  # type: ignore[arg-type]
            self.made.add((action, resource))


def _wanted(service: str, operation: str, params: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The permission that such a call needs: an action, on a resource."""
    here = f"arn:aws:{service}:{REGION}:{ACCOUNT}"
    action = NAMED_OTHERWISE.get(f"{service}:{operation}", f"{service}:{operation}")
    if "Statements" in params:
        for one in params["Statements"]:
            statement = STATEMENT.match(one["Statement"])
            assert statement, one
            yield ALLOWED_BY[statement[1]], f"{here}:table/{statement['table']}"
    elif "TransactItems" in params:  # allowed by what each of its items does
        for one in params["TransactItems"]:
            [(verb, item)] = one.items()
            yield f"dynamodb:{verb}Item", f"{here}:table/{item['TableName']}"
    elif service == "dynamodb":
        index = f"/index/{params['IndexName']}" if "IndexName" in params else ""
        tables = [params["TableName"]] if "TableName" in params else params.get("RequestItems", ["*"])
        for table in tables:
            yield action, f"{here}:table/{table}{index}"
    else:
        for resource in _named(service, params):
            yield action, resource
    if role := params.get("Target", {}).get("RoleArn"):
        yield "iam:PassRole", f"to pass {role}"


def _named(service: str, params: dict[str, Any]) -> list[str]:
    """The resources that a call names; of what nobody here is allowed, all."""
    here = f"arn:aws:{service}:{REGION}:{ACCOUNT}"
    match service:
        case "lambda":
            return [f"{here}:function:{str(params['FunctionName']).removeprefix(f'{here}:function:')}"]
        case "sqs":
            return [f"{here}:{params.get('QueueName') or params['QueueUrl'].rpartition('/')[2]}"]
        case "ecs":
            return [f"{here}:task-definition/{params['taskDefinition']}"]
        case "scheduler":
            return [f"{here}:schedule/{params.get('GroupName', 'default')}/{params['Name']}"]
        case "events":
            rule = f"{here}:rule/{params.get('Rule') or params.get('Name')}"
            return [one["EventBusName"] for one in params.get("Entries", ())] or [rule]
        case _:
            return [str(params.get(BY_ARN[service]))] if service in BY_ARN else ["*"]


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _resolved(value: Any, given: Mapping[str, Mapping[str, Sequence[str]]]) -> Any:
    if isinstance(value, dict):
        if "Fn::If" in value:  # all of these are off unless asked for
            condition, then, _ = value["Fn::If"]
            return _resolved(then, given) if condition in given or condition in BY_DEFAULT else None
        if set(value) == {"Ref"} and value["Ref"] not in VALUES:
            [several] = [lists[value["Ref"]] for lists in given.values() if value["Ref"] in lists]
            return list(several)
        if "Fn::Sub" in value:
            return re.sub(r"\$\{([^}]+)\}", lambda name: VALUES[name[1]], value["Fn::Sub"])
        if "Fn::GetAtt" in value:
            named = value["Fn::GetAtt"]
            return f"the ARN of {named[0] if isinstance(named, list) else named.split('.')[0]}"
        return {key: _resolved(inner, given) for key, inner in value.items()}
    return [_resolved(inner, given) for inner in value] if isinstance(value, list) else value
