"""CloudFormation and Terraform describe one system, in all regions: what the one has, the other has."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from cfnlint.helpers import REGIONS  # type: ignore[import-untyped]
from cfnlint.schema import PROVIDER_SCHEMA_MANAGER  # type: ignore[import-untyped]

from duebell_shared.bell.armer import run_event
from duebell_shared.bell.expression import FAR_SENTINEL
from tests.infra.conftest import properties
from tests.terraform import MODULE

#: Resources of the template, each with what the module has in its place.
SAME = {
    "FailedRuns": ("aws_sqs_queue.failed_runs",),
    "Function": ("aws_lambda_function.worker",),
    "HeartbeatAlarm": ("aws_cloudwatch_metric_alarm.heartbeat",),
    "HeartbeatPermission": ("aws_lambda_permission.heartbeat",),
    "IntakeDeadLetters": ("aws_sqs_queue.intake_dead_letters",),
    "IntakeMapping": ("aws_lambda_event_source_mapping.intake",),
    "IntakeQueue": ("aws_sqs_queue.intake",),
    "LostRings": ("aws_sqs_queue.lost_rings",),
    "Permission": ("aws_lambda_permission.bell",),
    "Retries": ("aws_lambda_function_event_invoke_config.worker",),
    "Rule": ("aws_cloudwatch_event_rule.bell", "aws_cloudwatch_event_target.worker"),
    "Schedule": ("aws_scheduler_schedule.bell",),
    "TableReadScaling": ("aws_appautoscaling_policy.scaled",),
}

#: Properties that Terraform calls otherwise.
RENAMED = {"id": "target_id", "message_retention_period": "message_retention_seconds"}

#: Properties that the module cannot spell out alike: of tags, dimensions, a text of JSON, both metrics.
OTHERWISE = {"key", "name", "max_receive_count", "predefined_metric_type"}

#: Properties that follow the use if capacity is provisioned.
SCALED = (("Table", "Read"), ("Table", "Write"), ("Past", "Read"), ("Past", "Write"))

#: Resources that the provider can give no tags.
UNTAGGABLE = {
    "aws_lambda_alias",
    "aws_lambda_event_source_mapping",  # not in China
    "aws_appautoscaling_policy",
    "aws_cloudwatch_dashboard",
    "aws_cloudwatch_event_target",
    "aws_cloudwatch_query_definition",
    "aws_iam_role_policy",
    "aws_iam_role_policy_attachments_exclusive",
    "aws_lambda_function_event_invoke_config",
    "aws_lambda_function_recursion_config",
    "aws_lambda_invocation",
    "aws_lambda_permission",
    "aws_s3_bucket_lifecycle_configuration",
    "aws_s3_bucket_policy",
    "aws_s3_bucket_public_access_block",
    "aws_s3_bucket_server_side_encryption_configuration",
    "aws_scheduler_schedule",
    "aws_sns_topic_subscription",
}

NONE = {"Ref": "AWS::NoValue"}


def snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def literals(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """The properties that a resource spells out, each by the name that Terraform has for it."""
    if isinstance(value, dict):
        if "Ref" not in value and not any(name.startswith("Fn::") for name in value):
            for name, inner in value.items():
                yield from literals(inner, snake(name))
    elif isinstance(value, list):
        for inner in value:
            yield from literals(inner, key)
    elif key not in OTHERWISE:
        yield RENAMED.get(key, key), value


@pytest.mark.parametrize("name", SAME)
def test_what_is_spelled_out_is_the_same(template: Any, module: Any, name: str) -> None:
    kinds = (each.split(".") for each in SAME[name])
    theirs = {one for kind, label in kinds for one in literals(module["resource"][kind][label])}
    ours = {*literals(properties(template, name))}
    assert ours
    assert ours <= theirs


def test_they_give_the_same(template: Any, module: Any) -> None:
    assert {snake(name) for name in template["Outputs"]} == set(module["output"])


def test_the_table(template: Any, module: Any) -> None:
    ours, theirs = properties(template, "Table"), module["resource"]["aws_dynamodb_table"]["queue"]
    assert [key["AttributeName"] for key in ours["KeySchema"]] == [theirs["hash_key"], theirs["range_key"]]
    assert {one["AttributeName"]: one["AttributeType"] for one in ours["AttributeDefinitions"]} == {
        one["name"]: one["type"] for one in theirs["attribute"]
    }
    for kind in ("LocalSecondaryIndex", "GlobalSecondaryIndex"):
        [index], [their_index] = ours[f"{kind}es"], theirs[snake(kind)]
        assert index["IndexName"] == their_index["name"]
        keys = [key["AttributeName"] for key in index["KeySchema"]]
        assert keys == [their_index.get("hash_key", theirs["hash_key"]), their_index["range_key"]]
        assert index["Projection"]["ProjectionType"] == their_index["projection_type"]
    assert ours["TimeToLiveSpecification"]["AttributeName"] == theirs["ttl"][0]["attribute_name"]
    assert theirs["ttl"][0]["enabled"] is theirs["point_in_time_recovery"][0]["enabled"] is True
    # Without a key, the one that DynamoDB owns: enabled would be the account's managed one, which is billed.
    assert ours["SSESpecification"]["SSEEnabled"] == {"Fn::If": ["HasKey", True, False]}
    assert theirs["server_side_encryption"][0]["enabled"] == '${var.kms_key_arn != ""}'


def test_the_capacity_is_by_the_request_or_the_indexs_like_the_tables(template: Any, module: Any) -> None:
    table = properties(template, "Table")
    assert table["BillingMode"] == {"Fn::If": ["IsProvisioned", "PROVISIONED", "PAY_PER_REQUEST"]}
    least = {"ReadCapacityUnits": {"Ref": "MinReadUnits"}, "WriteCapacityUnits": {"Ref": "MinWriteUnits"}}
    for one in (table, *table["GlobalSecondaryIndexes"]):
        assert one["ProvisionedThroughput"] == {"Fn::If": ["IsProvisioned", least, NONE]}
    theirs = module["resource"]["aws_dynamodb_table"]["queue"]
    assert theirs["billing_mode"] == '${local.is_provisioned ? "PROVISIONED" : "PAY_PER_REQUEST"}'
    for what in ("read", "write"):
        for one in (theirs, *theirs["global_secondary_index"]):
            assert one[f"{what}_capacity"] == f"${{local.is_provisioned ? var.min_{what}_units : null}}"
    assert theirs["lifecycle"][0]["ignore_changes"] == ["read_capacity", "write_capacity"]


@pytest.mark.parametrize(("of", "what"), SCALED)
def test_the_scaling(template: Any, module: Any, of: str, what: str) -> None:
    ours, theirs = properties(template, f"{of}{what}s"), module["locals"]["scaled"][f"{of}-{what}s".lower()]
    place = ours["ResourceId"]["Fn::If"][1]["Fn::Sub"]
    assert theirs["resource"] == place.replace("${Table}", "${aws_dynamodb_table.queue.name}")
    assert ours["ResourceId"]["Fn::If"][2]["Fn::Sub"] == place.replace("${Table}", "${Name}")
    assert ours["ScalableDimension"] == f"dynamodb:{theirs['of']}:{theirs['what']}CapacityUnits"
    assert (ours["MinCapacity"], ours["MaxCapacity"]) == (
        {"Ref": f"Min{what}Units"},
        {"Ref": f"Max{what}Units"},
    )
    bounds = {end: f"${{var.{end}_{what.lower()}_units}}" for end in ("min", "max")}
    assert module["locals"]["bounds"][what] == bounds
    target = module["resource"]["aws_appautoscaling_target"]["scaled"]
    assert target["scalable_dimension"] == "dynamodb:${each.value.of}:${each.value.what}CapacityUnits"
    policy = properties(template, f"{of}{what}Scaling")
    assert policy["ScalingTargetId"] == {"Ref": f"{of}{what}s"}
    tracking = policy["TargetTrackingScalingPolicyConfiguration"]
    assert tracking["TargetValue"] == 70
    metric = tracking["PredefinedMetricSpecification"]["PredefinedMetricType"]
    assert metric == f"DynamoDB{what}CapacityUtilization"
    for name in (f"{of}{what}s", f"{of}{what}Scaling"):
        assert template["Resources"][name]["Condition"] == "IsProvisioned"


def test_the_bells_are_alike_and_stay_as_they_are_set(template: Any, module: Any) -> None:
    rule, schedule = properties(template, "Rule"), properties(template, "Schedule")
    assert schedule["ScheduleExpression"] == FAR_SENTINEL
    assert (schedule["Description"], schedule["State"]) == (rule["Description"], rule["State"])
    for same in ("Arn", "RetryPolicy", "DeadLetterConfig"):
        assert schedule["Target"][same] == rule["Targets"][0][same]
    assert schedule["Target"]["RoleArn"] == {"Fn::GetAtt": ["BellRole", "Arn"]}
    resources = module["resource"]
    [target] = resources["aws_scheduler_schedule"]["bell"]["target"]
    assert target["role_arn"] == "${aws_iam_role.bell[0].arn}"
    for one in (target, resources["aws_cloudwatch_event_target"]["worker"]):
        assert "lost_rings" in one["dead_letter_config"][0]["arn"]
    for kind in ("aws_cloudwatch_event_rule", "aws_scheduler_schedule"):
        ignored = resources[kind]["bell"]["lifecycle"][0]["ignore_changes"]
        assert {"schedule_expression", "state"} <= set(ignored)


def test_the_workers_variables_and_where_its_failed_runs_go(template: Any, module: Any) -> None:
    ours = properties(template, "Function")
    variables = set(ours["Environment"]["Variables"]) - {"DUEBELL_VERSION_KEY"}
    assert variables == set(module["locals"]["variables"])
    config = module["resource"]["aws_lambda_function_event_invoke_config"]["worker"]
    assert "failed_runs" in config["destination_config"][0]["on_failure"][0]["destination"]


def test_all_that_can_be_is_tagged(template: Any, module: Any) -> None:
    tagged = {name for name, one in template["Resources"].items() if "Tags" in one["Properties"]}
    alarms = {name for name in template["Resources"] if name.endswith("Alarm")}
    queues = {"LostRings", "FailedRuns", "IntakeQueue", "IntakeDeadLetters"}
    assert tagged == {"Table", "Function", "Log", "Role", "BellRole", "AlarmTopic"} | queues | alarms
    for kind, resources in module["resource"].items():
        for name, resource in resources.items():
            assert ("tags" in resource) is (kind not in UNTAGGABLE), f"{kind}.{name}"


def test_the_intake(template: Any, module: Any) -> None:
    for name in ("IntakeQueue", "IntakeDeadLetters", "IntakeMapping"):
        assert template["Resources"][name]["Condition"] == "HasIntake"
    redrive = module["resource"]["aws_sqs_queue"]["intake"]["redrive_policy"]
    assert properties(template, "IntakeQueue")["RedrivePolicy"]["maxReceiveCount"] == 100
    assert "maxReceiveCount = 100" in redrive.replace('"', "").replace(":", " =")
    # By the queue: CloudFormation makes it first.
    named = {"Fn::If": ["HasIntake", {"Fn::GetAtt": ["IntakeQueue", "QueueName"]}, ""]}
    assert properties(template, "Function")["Environment"]["Variables"]["DUEBELL_INTAKE"] == named


def test_the_alarms(template: Any, module: Any) -> None:
    ours = {}
    for name, resource in template["Resources"].items():
        if resource["Type"] == "AWS::CloudWatch::Alarm" and name != "HeartbeatAlarm":
            alarm = resource["Properties"]
            assert (alarm["Period"], alarm["EvaluationPeriods"]) == (300, 1)
            assert alarm["ComparisonOperator"] == "GreaterThanThreshold"
            threshold = alarm["Threshold"]
            ours[alarm["AlarmName"]["Fn::Sub"].removeprefix("${Name}-")] = {
                "description": alarm["AlarmDescription"],
                "namespace": alarm["Namespace"],
                "metric": alarm["MetricName"],
                "dimensions": [dimension["Name"] for dimension in alarm["Dimensions"]],
                "statistic": alarm.get("Statistic") or alarm["ExtendedStatistic"],
                "threshold": f"${{var.{snake(threshold['Ref'])}}}"
                if isinstance(threshold, dict)
                else threshold,
                "missing": alarm["TreatMissingData"],
            }
    watched = {**module["locals"]["watched"], **module["locals"]["watched_intake"]}
    assert ours == {
        name: {"missing": "notBreaching", **alarm, "dimensions": list(alarm["dimensions"])}
        for name, alarm in watched.items()
    }
    alarm = module["resource"]["aws_cloudwatch_metric_alarm"]["watched"]
    assert (alarm["period"], alarm["evaluation_periods"]) == (300, 1)
    assert alarm["comparison_operator"] == "GreaterThanThreshold"
    assert alarm["treat_missing_data"] == '${lookup(each.value, "missing", "notBreaching")}'


def test_the_heartbeat(template: Any, module: Any) -> None:
    # A rule that has the worker only set the bell, and an alarm for which no heartbeat is a breach
    rule, alarm = properties(template, "HeartbeatRule"), properties(template, "HeartbeatAlarm")
    assert json.loads(rule["Targets"][0]["Input"]) == run_event(())
    resources = module["resource"]
    target = resources["aws_cloudwatch_event_target"]["heartbeat"]
    assert target["input"] == "${jsonencode({duebell = {lanes = []}})}"
    their_rule = resources["aws_cloudwatch_event_rule"]["heartbeat"]
    their_alarm = resources["aws_cloudwatch_metric_alarm"]["heartbeat"]
    for our, their in (
        (rule["ScheduleExpression"], their_rule["schedule_expression"].replace('"r', "r").replace(')"', ")")),
        (alarm["Period"], their_alarm["period"]),
        (alarm["EvaluationPeriods"], their_alarm["evaluation_periods"]),
    ):
        condition, hourly, daily = our["Fn::If"]
        assert condition == "IsHourly"
        assert their == f'${{var.heartbeat == "hourly" ? {hourly} : {daily}}}'
    assert (alarm["MetricName"], alarm["TreatMissingData"]) == ("Invocations", "breaching")
    # Without it nothing is made
    off = {"Fn::Not": [{"Fn::Equals": [{"Ref": "Heartbeat"}, "off"]}]}
    assert template["Conditions"]["HasHeartbeat"] == off
    assert template["Parameters"]["Heartbeat"]["Default"] == "off"
    for name in ("HeartbeatRule", "HeartbeatPermission"):
        assert template["Resources"][name]["Condition"] == "HasHeartbeat"


def test_every_alarm_tells_the_topic_and_the_mail(template: Any, module: Any) -> None:
    own = {"IntakeDeadLettersAlarm": "WatchesIntake", "HeartbeatAlarm": "WatchesHeartbeat"}
    for name, alarm in template["Resources"].items():
        if alarm["Type"] == "AWS::CloudWatch::Alarm":
            assert alarm["Condition"] == own.get(name, "IsWatched")
            assert alarm["Properties"]["AlarmActions"] == [
                {"Fn::If": ["TellsTopic", {"Ref": "AlarmTopicArn"}, NONE]},
                {"Fn::If": ["TellsMail", {"Ref": "AlarmTopic"}, NONE]},
            ]
    assert module["resource"]["aws_cloudwatch_metric_alarm"]["watched"]["alarm_actions"] == "${local.tells}"
    assert module["locals"]["tells"] == (
        '${concat(var.alarm_topic_arn == "" ? [] : [var.alarm_topic_arn], aws_sns_topic.alarms[*].arn)}'
    )
    subscription = properties(template, "AlarmSubscription")
    assert (subscription["Protocol"], subscription["Endpoint"]) == ("email", {"Ref": "AlarmMail"})


def test_nothing_that_costs_while_it_stands_is_made_unless_asked_for(template: Any) -> None:
    conditions = template["Conditions"]
    told = [{"Condition": "TellsTopic"}, {"Condition": "TellsMail"}]
    assert conditions["IsWatched"] == {"Fn::Or": [{"Fn::Equals": [{"Ref": "Alarms"}, "yes"]}, *told]}
    measured = [{"Fn::Equals": [{"Ref": "Metrics"}, "on"]}, {"Condition": "IsWatched"}]
    assert conditions["IsMeasured"] == {"Fn::Or": measured}
    defaults = {name: template["Parameters"][name]["Default"] for name in ("Alarms", "Metrics")}
    assert defaults == {"Alarms": "no", "Metrics": "off"}
    for one in template["Resources"].values():
        if one["Type"].startswith("AWS::CloudWatch::"):
            assert one["Condition"] in {"IsWatched", "WatchesIntake", "WatchesHeartbeat"}


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


def test_each_region_knows_every_type_of_resource(template: Any) -> None:
    types = {one["Type"] for one in template["Resources"].values()}
    for region in REGIONS:
        assert types <= set(PROVIDER_SCHEMA_MANAGER.get_resource_types(region)), region


def test_loops_are_allowed_only_where_lambda_looks_for_them(template: Any, module: Any) -> None:
    # https://github.com/aws/aws-lambda-roadmap/issues/18
    without = ["mx-central-1", "ap-southeast-6"]
    ours = properties(template, "Function")["RecursiveLoop"]
    assert ours == {"Fn::If": ["LooksForLoops", "Allow", NONE]}
    partition, *regions = template["Conditions"]["LooksForLoops"]["Fn::And"]
    assert partition == {"Fn::Equals": [{"Ref": "AWS::Partition"}, "aws"]}
    assert regions == [{"Fn::Not": [{"Fn::Equals": [{"Ref": "AWS::Region"}, region]}]} for region in without]
    loop = module["resource"]["aws_lambda_function_recursion_config"]["worker"]
    assert (loop["recursive_loop"], loop["count"]) == ("Allow", "${local.looks_for_loops ? 1 : 0}")
    looks = module["locals"]["looks_for_loops"]
    assert 'partition == "aws"' in looks
    assert all(region in looks for region in without)
