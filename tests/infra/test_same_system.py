"""CloudFormation and Terraform describe one system, in all regions: what the one has, the other has."""

import json
import re
from typing import Any

from cfnlint.helpers import REGIONS  # type: ignore[import-untyped]
from cfnlint.schema import PROVIDER_SCHEMA_MANAGER  # type: ignore[import-untyped]

from duebell_shared.bell.armer import arming_event
from duebell_shared.bell.expression import FAR_SENTINEL
from tests.infra.both import properties, snake
from tests.terraform import MODULE

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
    "aws_iam_role_policy_attachment",
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


def test_they_give_the_same(template: Any, module: Any) -> None:
    assert {snake(name) for name in template["Outputs"]} == set(module["output"])


def test_the_table(template: Any, module: Any) -> None:
    ours, theirs = properties(template, "Table"), module["resource"]["aws_dynamodb_table"]["queue"]
    assert [key["AttributeName"] for key in ours["KeySchema"]] == [theirs["hash_key"], theirs["range_key"]]
    assert {one["AttributeName"]: one["AttributeType"] for one in ours["AttributeDefinitions"]} == {
        one["name"]: one["type"] for one in theirs["attribute"]
    }
    for kind, their_kind in (
        ("LocalSecondaryIndexes", "local_secondary_index"),
        ("GlobalSecondaryIndexes", "global_secondary_index"),
    ):
        [index], [their_index] = ours[kind], theirs[their_kind]
        assert index["IndexName"] == their_index["name"]
        keys = [key["AttributeName"] for key in index["KeySchema"]]
        assert keys == [their_index.get("hash_key", theirs["hash_key"]), their_index["range_key"]]
        assert index["Projection"]["ProjectionType"] == their_index["projection_type"]
    assert ours["TimeToLiveSpecification"]["AttributeName"] == theirs["ttl"][0]["attribute_name"]
    assert theirs["ttl"][0]["enabled"] is theirs["point_in_time_recovery"][0]["enabled"] is True
    # Without a key, the one that DynamoDB owns: enabled would be the account's managed one, which is billed.
    assert ours["SSESpecification"]["SSEEnabled"] == {"Fn::If": ["HasKey", True, False]}
    assert theirs["server_side_encryption"][0]["enabled"] == '${var.kms_key_arn != ""}'


def test_the_capacity(template: Any, module: Any) -> None:
    # By the request, unless it is to be provisioned: then the index like the table
    ours, theirs = properties(template, "Table"), module["resource"]["aws_dynamodb_table"]["queue"]
    assert ours["BillingMode"] == {"Fn::If": ["IsProvisioned", "PROVISIONED", "PAY_PER_REQUEST"]}
    assert theirs["billing_mode"] == '${local.is_provisioned ? "PROVISIONED" : "PAY_PER_REQUEST"}'
    [index], [their_index] = ours["GlobalSecondaryIndexes"], theirs["global_secondary_index"]
    least = {"ReadCapacityUnits": {"Ref": "MinReadUnits"}, "WriteCapacityUnits": {"Ref": "MinWriteUnits"}}
    for one in (ours, index):
        assert one["ProvisionedThroughput"] == {"Fn::If": ["IsProvisioned", least, {"Ref": "AWS::NoValue"}]}
    for one in (theirs, their_index):
        assert one["read_capacity"] == "${local.is_provisioned ? var.min_read_units : null}"
        assert one["write_capacity"] == "${local.is_provisioned ? var.min_write_units : null}"
    assert theirs["lifecycle"][0]["ignore_changes"] == ["read_capacity", "write_capacity"]


def test_the_scaling(template: Any, module: Any) -> None:
    scaled = module["locals"]["scaled"]
    target = module["resource"]["aws_appautoscaling_target"]["scaled"]
    assert target["scalable_dimension"] == "dynamodb:${each.value.of}:${each.value.what}CapacityUnits"
    [their_policy] = module["resource"]["aws_appautoscaling_policy"]["scaled"][
        "target_tracking_scaling_policy_configuration"
    ]
    for of, what in SCALED:
        ours, theirs = properties(template, f"{of}{what}s"), scaled[f"{of}-{what}s".lower()]
        place = ours["ResourceId"]["Fn::If"][1]["Fn::Sub"]
        assert theirs["resource"] == place.replace("${Table}", "${aws_dynamodb_table.queue.name}")
        assert ours["ResourceId"]["Fn::If"][2]["Fn::Sub"] == place.replace("${Table}", "${Name}")
        dimension = f"dynamodb:{theirs['of']}:{theirs['what']}CapacityUnits"
        assert ours["ScalableDimension"] == dimension
        assert ours["MinCapacity"] == {"Ref": f"Min{what}Units"}
        assert ours["MaxCapacity"] == {"Ref": f"Max{what}Units"}
        assert module["locals"]["bounds"][what] == {
            "min": f"${{var.min_{what.lower()}_units}}",
            "max": f"${{var.max_{what.lower()}_units}}",
        }
        policy = properties(template, f"{of}{what}Scaling")
        assert policy["ScalingTargetId"] == {"Ref": f"{of}{what}s"}
        tracking = policy["TargetTrackingScalingPolicyConfiguration"]
        assert tracking["TargetValue"] == their_policy["target_value"] == 70
        metric = tracking["PredefinedMetricSpecification"]["PredefinedMetricType"]
        assert metric == f"DynamoDB{what}CapacityUtilization"
        for name in (f"{of}{what}s", f"{of}{what}Scaling"):
            assert template["Resources"][name]["Condition"] == "IsProvisioned"


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


def test_the_schedule_is_as_the_rule_and_keeps_its_retries(template: Any, module: Any) -> None:
    ours, rule = properties(template, "Schedule"), properties(template, "Rule")
    theirs = module["resource"]["aws_scheduler_schedule"]["bell"]
    assert ours["ScheduleExpression"] == theirs["schedule_expression"] == FAR_SENTINEL
    assert ours["ScheduleExpressionTimezone"] == theirs["schedule_expression_timezone"] == "UTC"
    assert (
        ours["FlexibleTimeWindow"] == {"Mode": theirs["flexible_time_window"][0]["mode"]} == {"Mode": "OFF"}
    )
    assert ours["Description"] == theirs["description"] == rule["Description"]
    assert ours["State"] == theirs["state"] == rule["State"]
    assert {"schedule_expression", "state"} <= set(theirs["lifecycle"][0]["ignore_changes"])
    [rules_target], [their_target] = rule["Targets"], theirs["target"]
    for same in ("Arn", "RetryPolicy", "DeadLetterConfig"):
        assert ours["Target"][same] == rules_target[same]
    assert ours["Target"]["RetryPolicy"] == {
        "MaximumEventAgeInSeconds": their_target["retry_policy"][0]["maximum_event_age_in_seconds"],
        "MaximumRetryAttempts": their_target["retry_policy"][0]["maximum_retry_attempts"],
    }
    assert "lost_rings" in their_target["dead_letter_config"][0]["arn"]
    assert ours["Target"]["RoleArn"] == {"Fn::GetAtt": ["BellRole", "Arn"]}
    assert their_target["role_arn"] == "${aws_iam_role.bell[0].arn}"


def test_the_worker_and_its_retries(template: Any, module: Any) -> None:
    ours, theirs = properties(template, "Function"), module["resource"]["aws_lambda_function"]["worker"]
    assert ours["Handler"] == theirs["handler"]
    loop = module["resource"]["aws_lambda_function_recursion_config"]["worker"]
    assert ours["RecursiveLoop"]["Fn::If"][1] == loop["recursive_loop"]
    variables = set(ours["Environment"]["Variables"]) - {"DUEBELL_VERSION_KEY"}
    assert variables == set(theirs["environment"][0]["variables"])
    retries = properties(template, "Retries")
    config = module["resource"]["aws_lambda_function_event_invoke_config"]["worker"]
    assert retries["MaximumRetryAttempts"] == config["maximum_retry_attempts"]
    assert retries["MaximumEventAgeInSeconds"] == config["maximum_event_age_in_seconds"]
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
    mapping = module["resource"]["aws_lambda_event_source_mapping"]["intake"]
    for name in ("IntakeQueue", "IntakeDeadLetters", "IntakeMapping"):
        assert template["Resources"][name]["Condition"] == "HasIntake"
    redrive = module["resource"]["aws_sqs_queue"]["intake"]["redrive_policy"]
    assert properties(template, "IntakeQueue")["RedrivePolicy"]["maxReceiveCount"] == 100
    assert "maxReceiveCount = 100" in redrive.replace('"', "").replace(":", " =")
    ours = properties(template, "IntakeMapping")
    assert ours["BatchSize"] == mapping["batch_size"] == 100
    assert ours["MaximumBatchingWindowInSeconds"] == mapping["maximum_batching_window_in_seconds"] == 1
    assert ours["FunctionResponseTypes"] == mapping["function_response_types"] == ["ReportBatchItemFailures"]
    most = mapping["scaling_config"][0]["maximum_concurrency"]
    assert ours["ScalingConfig"] == {"MaximumConcurrency": most}
    # By the queue: CloudFormation makes it first.
    named = {"Fn::If": ["HasIntake", {"Fn::GetAtt": ["IntakeQueue", "QueueName"]}, ""]}
    assert properties(template, "Function")["Environment"]["Variables"]["DUEBELL_INTAKE"] == named


def test_the_queues(template: Any, module: Any) -> None:
    for name, same in (
        ("LostRings", "lost_rings"),
        ("FailedRuns", "failed_runs"),
        ("IntakeQueue", "intake"),
        ("IntakeDeadLetters", "intake_dead_letters"),
    ):
        ours, theirs = properties(template, name), module["resource"]["aws_sqs_queue"][same]
        assert ours["MessageRetentionPeriod"] == theirs["message_retention_seconds"]


def test_the_alarms(template: Any, module: Any) -> None:
    ours = {}
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::CloudWatch::Alarm":
            alarm = resource["Properties"]
            if alarm["MetricName"] == "Invocations":
                continue  # the heartbeat's: see below
            assert (alarm["Period"], alarm["EvaluationPeriods"]) == (300, 1)
            assert alarm["ComparisonOperator"] == "GreaterThanThreshold"
            statistic = alarm.get("Statistic") or alarm["ExtendedStatistic"]
            threshold = alarm["Threshold"]
            ours[alarm["AlarmName"]["Fn::Sub"].removeprefix("${Name}-")] = {
                "description": alarm["AlarmDescription"],
                "namespace": alarm["Namespace"],
                "metric": alarm["MetricName"],
                "dimensions": [dimension["Name"] for dimension in alarm["Dimensions"]],
                "statistic": statistic,
                "threshold": snake(threshold["Ref"]) if isinstance(threshold, dict) else threshold,
                "missing": alarm["TreatMissingData"],
            }
    theirs = {
        name: {
            "missing": "notBreaching",
            **alarm,
            "dimensions": list(alarm["dimensions"]),
            "threshold": re.sub(r"\$\{var\.(\w+)\}", r"\1", str(alarm["threshold"])),
        }
        for name, alarm in {**module["locals"]["watched"], **module["locals"]["watched_intake"]}.items()
    }
    assert theirs == {name: {**alarm, "threshold": str(alarm["threshold"])} for name, alarm in ours.items()}
    alarm = module["resource"]["aws_cloudwatch_metric_alarm"]["watched"]
    assert (alarm["period"], alarm["evaluation_periods"]) == (300, 1)
    assert alarm["comparison_operator"] == "GreaterThanThreshold"
    assert alarm["treat_missing_data"] == '${lookup(each.value, "missing", "notBreaching")}'


def test_the_heartbeat(template: Any, module: Any) -> None:
    # A rule that has the worker only set the bell, and an alarm for which no heartbeat is a breach
    rule, target = properties(template, "HeartbeatRule"), module["resource"]["aws_cloudwatch_event_target"]
    [to] = rule["Targets"]
    assert json.loads(to["Input"]) == arming_event()
    assert target["heartbeat"]["input"] == "${jsonencode({duebell = {lanes = []}})}"
    assert rule["ScheduleExpression"] == {"Fn::If": ["IsHourly", "rate(1 hour)", "rate(1 day)"]}
    their_rule = module["resource"]["aws_cloudwatch_event_rule"]["heartbeat"]
    assert their_rule["schedule_expression"] == (
        '${var.heartbeat == "hourly" ? "rate(1 hour)" : "rate(1 day)"}'
    )
    ours = properties(template, "HeartbeatAlarm")
    theirs = module["resource"]["aws_cloudwatch_metric_alarm"]["heartbeat"]
    for our, their in (
        (ours["Period"], theirs["period"]),
        (ours["EvaluationPeriods"], theirs["evaluation_periods"]),
    ):
        condition, hourly, daily = our["Fn::If"]
        assert condition == "IsHourly"
        assert their == f'${{var.heartbeat == "hourly" ? {hourly} : {daily}}}'
    assert (ours["ComparisonOperator"], ours["Threshold"], ours["TreatMissingData"]) == (
        theirs["comparison_operator"],
        theirs["threshold"],
        theirs["treat_missing_data"],
    )
    assert (ours["Namespace"], ours["MetricName"], ours["TreatMissingData"]) == (
        "AWS/Events",
        "Invocations",
        "breaching",
    )
    # Without it nothing is made
    off = {"Fn::Not": [{"Fn::Equals": [{"Ref": "Heartbeat"}, "off"]}]}
    assert template["Conditions"]["HasHeartbeat"] == off
    assert template["Parameters"]["Heartbeat"]["Default"] == "off"
    for name in ("HeartbeatRule", "HeartbeatPermission"):
        assert template["Resources"][name]["Condition"] == "HasHeartbeat"


def test_every_alarm_tells_the_topic_and_the_mail(template: Any, module: Any) -> None:
    none = {"Ref": "AWS::NoValue"}
    for alarm in template["Resources"].values():
        if alarm["Type"] == "AWS::CloudWatch::Alarm":
            name = alarm["Properties"]["AlarmName"]["Fn::Sub"]
            own = {"${Name}-intake-dead-letters": "WatchesIntake", "${Name}-heartbeat": "WatchesHeartbeat"}
            assert alarm["Condition"] == own.get(name, "IsWatched")
            assert alarm["Properties"]["AlarmActions"] == [
                {"Fn::If": ["TellsTopic", {"Ref": "AlarmTopicArn"}, none]},
                {"Fn::If": ["TellsMail", {"Ref": "AlarmTopic"}, none]},
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
    assert ours == {"Fn::If": ["LooksForLoops", "Allow", {"Ref": "AWS::NoValue"}]}
    partition, *regions = template["Conditions"]["LooksForLoops"]["Fn::And"]
    assert partition == {"Fn::Equals": [{"Ref": "AWS::Partition"}, "aws"]}
    assert regions == [{"Fn::Not": [{"Fn::Equals": [{"Ref": "AWS::Region"}, region]}]} for region in without]
    loop = module["resource"]["aws_lambda_function_recursion_config"]["worker"]
    assert loop["count"] == "${local.looks_for_loops ? 1 : 0}"
    looks = module["locals"]["looks_for_loops"]
    assert 'partition == "aws"' in looks
    assert all(region in looks for region in without)
