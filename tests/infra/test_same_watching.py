"""CloudFormation and Terraform watch the same: alarms, dashboard, saved queries."""

import json
import re
from typing import Any

from duebell_shared.bell.armer import arming_event
from tests.infra.both import properties, snake
from tests.terraform import MODULE


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
