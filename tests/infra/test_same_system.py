"""CloudFormation and Terraform describe one system: what the one has, the other has, names apart."""

from typing import Any

from tests.infra.both import properties, snake

#: Parameters and variables with another name, or of one of the two only, and why.
OTHERWISE = {
    "CodeBucket": None,  # Terraform uploads the bundle itself
    "CodeKey": None,
    "ExistingTable": None,  # Terraform's state knows
}
ONLY_TERRAFORM = {"bundle", "saved_queries"}

#: Without tags of their own in the template: rules and dashboard get the stack's, the budget's are named
#: otherwise, and the rest can have none.
UNTAGGED = {
    *("Rule", "Dashboard", "Budget", "EditorPolicy"),
    *("Permission", "Retries", "LostRingsPolicy"),
    *("FailuresQuery", "LatestQuery", "TaskQuery"),
}

#: What the provider can give no tags.
UNTAGGABLE = {
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
}


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
    # Without a key, the one that DynamoDB owns: enabled would be the account's managed one, which is billed.
    assert ours["SSESpecification"]["SSEEnabled"] == {"Fn::If": ["HasKey", True, False]}
    assert theirs["server_side_encryption"][0]["enabled"] == '${var.kms_key_arn != ""}'


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
    loop = module["resource"]["aws_lambda_function_recursion_config"]["worker"]
    assert ours["RecursiveLoop"] == loop["recursive_loop"]
    assert set(ours["Environment"]["Variables"]) == set(theirs["environment"][0]["variables"])
    retries = properties(template, "Retries")
    config = module["resource"]["aws_lambda_function_event_invoke_config"]["worker"]
    assert retries["MaximumRetryAttempts"] == config["maximum_retry_attempts"]
    assert retries["MaximumEventAgeInSeconds"] == config["maximum_event_age_in_seconds"]
    assert "failed_runs" in config["destination_config"][0]["on_failure"][0]["destination"]


def test_the_rule_may_wake_the_worker(template: Any, module: Any) -> None:
    ours, theirs = properties(template, "Permission"), module["resource"]["aws_lambda_permission"]["bell"]
    assert (ours["Action"], ours["Principal"]) == (theirs["action"], theirs["principal"])


def test_all_that_can_be_is_tagged(template: Any, module: Any) -> None:
    tagged = {name for name, one in template["Resources"].items() if "Tags" in one["Properties"]}
    alarms = {name for name in template["Resources"] if name.endswith("Alarm")}
    assert tagged == {"Table", "Function", "LostRings", "FailedRuns", "Log", "Role"} | alarms
    assert set(template["Resources"]) - tagged == UNTAGGED
    for kind, resources in module["resource"].items():
        for name, resource in resources.items():
            assert ("tags" in resource) is (kind not in UNTAGGABLE), f"{kind}.{name}"


def test_the_queues(template: Any, module: Any) -> None:
    for name, same in (("LostRings", "lost_rings"), ("FailedRuns", "failed_runs")):
        ours, theirs = properties(template, name), module["resource"]["aws_sqs_queue"][same]
        assert ours["MessageRetentionPeriod"] == theirs["message_retention_seconds"]
