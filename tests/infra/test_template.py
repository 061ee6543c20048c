"""The template: what other parts rely on, and what keeps an armed rule undisturbed."""

import re
from pathlib import Path
from typing import Any

import boto3
from cfnlint.decode import decode  # type: ignore[import-untyped]

from duebell_infra.deploy.stack import template_file, template_text
from duebell_shared.bell.expression import SENTINEL
from duebell_shared.bell.wiring import DESCRIPTION


def referred(value: Any) -> set[str]:
    """The names that a part of the template refers to."""
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


def conditions_in(value: Any) -> set[str]:
    """The conditions that a part of the template depends on."""
    if isinstance(value, dict):
        own = {value["Fn::If"][0]} if "Fn::If" in value else set()
        return own.union(*map(conditions_in, value.values()))
    return set().union(*map(conditions_in, value)) if isinstance(value, list) else set()


def test_nothing_but_the_name_and_snap_start_can_ever_change_the_rule(template: Any) -> None:
    rule = template["Resources"]["Rule"]["Properties"]
    assert referred(rule) == {"Name"}
    assert conditions_in(rule) == {"StartsFromSnapshot"}
    # Nor the schedule, whose role stays the same whatever else becomes of it
    schedule = template["Resources"]["Schedule"]["Properties"]
    assert referred(schedule) == {"Name", "BellRole"}
    assert conditions_in(schedule) == {"StartsFromSnapshot"}
    assert "RoleName" not in template["Resources"]["BellRole"]["Properties"]


def test_the_rule_is_created_parked(template: Any) -> None:
    rule = template["Resources"]["Rule"]["Properties"]
    assert (rule["ScheduleExpression"], rule["State"]) == (SENTINEL, "ENABLED")
    assert rule["Description"] == DESCRIPTION


def test_the_table_is_what_the_code_and_its_tests_work_on(template: Any, session: boto3.Session) -> None:
    declared = template["Resources"]["Table"]["Properties"]
    tested = session.client("dynamodb").describe_table(TableName="duebell")["Table"]
    assert declared["KeySchema"] == tested["KeySchema"]
    index, tested_index = declared["LocalSecondaryIndexes"][0], tested["LocalSecondaryIndexes"][0]
    assert {name: tested_index.get(name) for name in index} == index
    past, tested_past = declared["GlobalSecondaryIndexes"][0], tested["GlobalSecondaryIndexes"][0]
    for name in ("IndexName", "KeySchema", "Projection"):
        assert tested_past[name] == past[name]
    assert declared["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}


def test_the_table_outlives_the_stack(template: Any) -> None:
    table = template["Resources"]["Table"]
    assert (table["DeletionPolicy"], table["UpdateReplacePolicy"]) == ("Retain", "Retain")


def test_only_the_rule_may_wake_the_worker(template: Any) -> None:
    permission = template["Resources"]["Permission"]["Properties"]
    assert permission["Principal"] == "events.amazonaws.com"
    assert referred(permission["SourceArn"]) == {"Rule"}


def test_it_is_small_enough_to_be_given_with_the_call() -> None:
    # CloudFormation takes at most 51,200 bytes as TemplateBody; from S3 it takes 1 MB.
    # https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
    assert len(template_text().encode()) <= 51_200


def test_what_is_applied_says_the_same_as_the_file(tmp_path: Path) -> None:
    assert not re.search(r"(?m)^ *#", template_text())
    applied = tmp_path / "applied.yaml"
    applied.write_text(template_text())
    assert decode(str(applied))[0] == decode(str(template_file()))[0]
