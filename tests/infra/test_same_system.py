"""CloudFormation and Terraform describe one system: what the one has, the other has, names apart."""

import json
import re
from pathlib import Path
from typing import Any

import hcl2
import pytest
from cfnlint.decode import decode  # type: ignore[import-untyped]

from duebell_infra.template import template_text

MODULE = Path(__file__).parents[2] / "infra" / "terraform"

#: Parameters and variables with another name, or of one of the two only, and why.
OTHERWISE = {
    "CodeBucket": None,  # Terraform uploads the bundle itself
    "CodeKey": None,
    "ExistingTable": None,  # Terraform's state knows
}
ONLY_TERRAFORM = {"bundle", "saved_queries"}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Any:
    file = tmp_path_factory.mktemp("template") / "template.yaml"
    file.write_text(template_text())
    return decode(str(file))[0]


@pytest.fixture(scope="module")
def module() -> Any:
    """The module's blocks by kind: `module["resource"]["aws_sqs_queue"]["lost_rings"]`."""
    found: dict[str, Any] = {}
    for file in MODULE.glob("*.tf"):
        with file.open() as text:
            parsed = _plain(hcl2.load(text))
        for kind, blocks in parsed.items():
            for block in blocks:
                _merge(found.setdefault(kind, {}), block)
    return found


def _plain(value: Any) -> Any:
    """Without the parser's quotes and marks."""
    if isinstance(value, dict):
        return {_plain(key): _plain(inner) for key, inner in value.items() if key != "__is_block__"}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value[1:-1] if isinstance(value, str) and re.fullmatch(r'"[^"]*"', value) else value


def _merge(into: dict[str, Any], block: dict[str, Any]) -> None:
    for key, value in block.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


def snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def properties(template: Any, name: str) -> Any:
    return template["Resources"][name]["Properties"]


def test_they_are_given_the_same(template: Any, module: Any) -> None:
    parameters = {snake(name): one for name, one in template["Parameters"].items() if name not in OTHERWISE}
    variables = {name: one for name, one in module["variable"].items() if name not in ONLY_TERRAFORM}
    assert set(parameters) == set(variables)
    yes = {"yes": True, "no": False, "on": True, "off": False}
    for name, parameter in parameters.items():
        default, variable = parameter["Default"], variables[name]
        if variable["type"] == "${bool}" or variable["type"] == "bool":
            assert yes[default] is variable["default"], name
        elif name in {"environment", "worker_policies"}:
            assert not variable["default"], name
        else:
            assert str(variable["default"]) == str(default), name
        said, also = (
            str(one["description" if one is variable else "Description"]) for one in (parameter, variable)
        )
        assert also.split(".")[0].split(":")[0].replace("<name>", "<Name>") in " ".join(said.split()), name


def test_they_give_the_same(template: Any, module: Any) -> None:
    assert {snake(name) for name in template["Outputs"]} == set(module["output"])


def test_the_table(template: Any, module: Any) -> None:
    ours, theirs = properties(template, "Table"), module["resource"]["aws_dynamodb_table"]["queue"]
    assert [key["AttributeName"] for key in ours["KeySchema"]] == [theirs["hash_key"], theirs["range_key"]]
    assert ours["BillingMode"] == theirs["billing_mode"]
    [index], [their_index] = ours["LocalSecondaryIndexes"], theirs["local_secondary_index"]
    assert index["IndexName"] == their_index["name"]
    assert index["KeySchema"][1]["AttributeName"] == their_index["range_key"]
    assert index["Projection"]["ProjectionType"] == their_index["projection_type"]
    assert ours["TimeToLiveSpecification"]["AttributeName"] == theirs["ttl"][0]["attribute_name"]
    assert theirs["ttl"][0]["enabled"] is theirs["point_in_time_recovery"][0]["enabled"] is True
    assert theirs["server_side_encryption"][0]["enabled"] is True


def test_the_rule_and_its_retries(template: Any, module: Any) -> None:
    ours = properties(template, "Rule")
    theirs = module["resource"]["aws_cloudwatch_event_rule"]["bell"]
    target = module["resource"]["aws_cloudwatch_event_target"]["worker"]
    assert ours["ScheduleExpression"] == theirs["schedule_expression"]
    assert ours["Description"] == theirs["description"]
    assert {"schedule_expression", "state"} <= set(theirs["lifecycle"][0]["ignore_changes"])
    [our_target] = ours["Targets"]
    assert our_target["Id"] == target["target_id"]
    assert our_target["RetryPolicy"] == {
        "MaximumEventAgeInSeconds": target["retry_policy"][0]["maximum_event_age_in_seconds"],
        "MaximumRetryAttempts": target["retry_policy"][0]["maximum_retry_attempts"],
    }
    assert "lost_rings" in target["dead_letter_config"][0]["arn"]


def test_the_worker_and_its_retries(template: Any, module: Any) -> None:
    ours, theirs = properties(template, "Function"), module["resource"]["aws_lambda_function"]["worker"]
    assert ours["Handler"] == theirs["handler"]
    assert set(ours["Environment"]["Variables"]) == set(theirs["environment"][0]["variables"])
    retries = properties(template, "Retries")
    config = module["resource"]["aws_lambda_function_event_invoke_config"]["worker"]
    assert retries["MaximumRetryAttempts"] == config["maximum_retry_attempts"]
    assert retries["MaximumEventAgeInSeconds"] == config["maximum_event_age_in_seconds"]
    assert "failed_runs" in config["destination_config"][0]["on_failure"][0]["destination"]


def test_the_queues(template: Any, module: Any) -> None:
    for name, same in (("LostRings", "lost_rings"), ("FailedRuns", "failed_runs")):
        ours, theirs = properties(template, name), module["resource"]["aws_sqs_queue"][same]
        assert ours["MessageRetentionPeriod"] == theirs["message_retention_seconds"]


def test_the_permissions(template: Any, module: Any) -> None:
    documents = module["data"]["aws_iam_policy_document"]
    editor = _allowed(documents["editor"])
    assert editor == _ours(properties(template, "EditorPolicy")["PolicyDocument"])
    worker = editor | _allowed(documents["worker"])
    assert worker == _ours(properties(template, "Role")["Policies"][0]["PolicyDocument"])


def _allowed(document: Any) -> dict[str, set[str]]:
    statements = list(document["statement"])
    for dynamic in document.get("dynamic", []):
        statements += dynamic["statement"]["content"]
    return {statement["sid"]: set(statement["actions"]) for statement in statements}


def _ours(document: Any) -> dict[str, set[str]]:
    found = {}
    for given in document["Statement"]:
        statement = given["Fn::If"][1] if "Fn::If" in given else given
        actions = statement["Action"]
        found[statement["Sid"]] = {actions} if isinstance(actions, str) else set(actions)
    return found


def test_the_alarms(template: Any, module: Any) -> None:
    ours = {}
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::CloudWatch::Alarm":
            alarm = resource["Properties"]
            statistic = alarm.get("Statistic") or alarm["ExtendedStatistic"]
            threshold = alarm["Threshold"]
            ours[alarm["AlarmName"]["Fn::Sub"].removeprefix("${Name}-")] = {
                "description": alarm["AlarmDescription"],
                "namespace": alarm["Namespace"],
                "metric": alarm["MetricName"],
                "dimensions": [dimension["Name"] for dimension in alarm["Dimensions"]],
                "statistic": statistic,
                "threshold": snake(threshold["Ref"]) if isinstance(threshold, dict) else threshold,
            }
            assert (alarm["Period"], alarm["EvaluationPeriods"]) == (300, 1)
    theirs = {
        name: {
            **alarm,
            "dimensions": list(alarm["dimensions"]),
            "threshold": re.sub(r"\$\{var\.(\w+)\}", r"\1", str(alarm["threshold"])),
        }
        for name, alarm in module["locals"]["watched"].items()
    }
    assert theirs == {name: {**alarm, "threshold": str(alarm["threshold"])} for name, alarm in ours.items()}


def test_the_dashboard_and_the_queries(template: Any, module: Any) -> None:
    ours = properties(template, "Dashboard")["DashboardBody"]["Fn::Sub"]
    watching = (MODULE / "watching.tf").read_text()
    theirs = watching.partition("<<-JSON\n")[2].partition("\n  JSON\n")[0]
    theirs = theirs.replace("${var.name}", "${Name}").replace(
        "${data.aws_region.here.name}", "${AWS::Region}"
    )
    assert json.loads(theirs) == json.loads(ours)
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Logs::QueryDefinition":
            assert resource["Properties"]["Name"]["Fn::Sub"].rpartition("/")[2] in module["locals"]["queries"]
            for line in resource["Properties"]["QueryString"].splitlines():
                assert line in watching
