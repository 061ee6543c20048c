"""The template: what other parts rely on, and what keeps an armed rule undisturbed."""

import re
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from cfnlint.decode import decode  # type: ignore[import-untyped]

from duebell_infra.template import parameter_names, template_text
from duebell_shared.rule import SENTINEL


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Any:
    file = tmp_path_factory.mktemp("template") / "template.yaml"
    file.write_text(template_text())
    parsed, problems = decode(str(file))
    assert not problems
    return parsed


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)
    else:
        yield str(value)


def referred(value: Any) -> set[str]:
    """What a part of the template takes from elsewhere in it."""
    found: set[str] = set()
    if isinstance(value, dict):
        for key, inner in value.items():
            match key:
                case "Ref":
                    found.add(inner)
                case "Fn::GetAtt":
                    found.add(inner[0] if isinstance(inner, list) else inner.split(".")[0])
                case "Fn::Sub":
                    found.update(re.findall(r"\$\{([^}.]+)", inner))
                case _:
                    found |= referred(inner)
    elif isinstance(value, list):
        for inner in value:
            found |= referred(inner)
    return {name for name in found if not name.startswith("AWS::")}


def test_nothing_but_the_name_can_ever_change_the_rule(template: Any) -> None:
    assert referred(template["Resources"]["Rule"]["Properties"]) == {"Name"}


def test_the_rule_is_created_parked(template: Any) -> None:
    rule = template["Resources"]["Rule"]["Properties"]
    assert (rule["ScheduleExpression"], rule["State"]) == (SENTINEL, "ENABLED")


def test_the_table_is_what_the_code_and_its_tests_work_on(template: Any, session: boto3.Session) -> None:
    declared = template["Resources"]["Table"]["Properties"]
    tested = session.client("dynamodb").describe_table(TableName="duebell")["Table"]
    assert declared["KeySchema"] == tested["KeySchema"]
    index, tested_index = declared["LocalSecondaryIndexes"][0], tested["LocalSecondaryIndexes"][0]
    assert {name: tested_index.get(name) for name in index} == index
    assert declared["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}


def test_the_table_outlives_the_stack(template: Any) -> None:
    table = template["Resources"]["Table"]
    assert (table["DeletionPolicy"], table["UpdateReplacePolicy"]) == ("Retain", "Retain")


def test_the_worker_may_do_what_it_needs_and_nothing_to_everything(template: Any) -> None:
    statements = template["Resources"]["Role"]["Properties"]["Policies"][0]["PolicyDocument"]["Statement"]
    allowed = {
        action
        for statement in statements
        for action in ([statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"])
    }
    assert allowed == {
        *("dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"),
        *("dynamodb:UpdateItem", "events:DescribeRule", "events:ListTargetsByRule", "events:PutRule"),
        *("logs:CreateLogStream", "logs:PutLogEvents", "sqs:SendMessage"),
    }
    assert "*" not in set(texts([statement["Resource"] for statement in statements]))


def test_only_the_rule_may_wake_the_worker(template: Any) -> None:
    permission = template["Resources"]["Permission"]["Properties"]
    assert permission["Principal"] == "events.amazonaws.com"
    assert referred(permission["SourceArn"]) == {"Rule"}


def test_its_parameters_are_read_off_it(template: Any) -> None:
    assert parameter_names(template_text()) == set(template["Parameters"])
