"""CloudFormation and Terraform allow the same, on the same: roles, queues, versions of the worker."""

from typing import Any

from tests.infra.both import properties
from tests.infra.policies import ACCOUNT, granted, statements_of, worker_document
from tests.support import REGION


def test_the_permissions(template: Any, module: Any) -> None:
    documents = module["data"]["aws_iam_policy_document"]
    editor = _allowed(documents["editor"])
    counting = _allowed(documents["editor_policy"])
    assert editor | counting == _ours(properties(template, "EditorPolicy")["PolicyDocument"])
    worker = editor | _allowed(documents["worker"]) | _delivering(module)
    assert worker == _ours(worker_document(template["Resources"]))


def test_the_permissions_are_for_the_same(template: Any, module: Any) -> None:
    partition, place = "${data.aws_partition.here.partition}", "${local.place}"
    assert module["locals"]["table"] == f"arn:{partition}:dynamodb:{place}:table/${{var.name}}"
    assert module["locals"]["rule"] == f"arn:{partition}:events:{place}:rule/${{var.name}}"
    assert module["locals"]["schedule"] == f"arn:{partition}:scheduler:{place}:schedule/default/${{var.name}}"
    assert module["locals"]["worker"] == f"arn:{partition}:lambda:{place}:function:${{var.name}}"
    here = f"{REGION}:{ACCOUNT}"
    means = {
        "${local.table}": f"arn:aws:dynamodb:{here}:table/duebell",
        "${local.table}/index/due-index": f"arn:aws:dynamodb:{here}:table/duebell/index/due-index",
        "${local.table}/index/past-index": f"arn:aws:dynamodb:{here}:table/duebell/index/past-index",
        "${local.worker}": f"arn:aws:lambda:{here}:function:duebell",
        "${local.rule}": f"arn:aws:events:{here}:rule/duebell",
        "${aws_cloudwatch_log_group.worker.arn}:*": "the ARN of Log",  # CloudFormation's ends with it
        "${aws_sqs_queue.failed_runs.arn}": "the ARN of FailedRuns",
    }
    documents = module["data"]["aws_iam_policy_document"]
    theirs = {
        statement["sid"]: [means[resource] for resource in statement["resources"]]
        for statement in [*documents["editor"]["statement"], *documents["worker"]["statement"]]
    }
    of_bells = {
        one["for_each"]: one["content"][0]
        for one in (dynamic["statement"] for dynamic in documents["editor"]["dynamic"])
        if any(word in one["for_each"] for word in ("has_rule", "has_schedule", "aws_iam_role.bell"))
    }
    assert {given: one["sid"] for given, one in of_bells.items()} == {
        "${local.has_rule ? [local.rule] : []}": "Arm",
        "${local.has_schedule ? [local.schedule] : []}": "ArmSchedule",
        "${aws_iam_role.bell[*].arn}": "PassBellRole",
    }
    assert all(one["resources"] == ["${statement.value}"] for one in of_bells.values())
    theirs |= {
        "Arm": [means["${local.rule}"]],
        "ArmSchedule": [f"arn:aws:scheduler:{here}:schedule/default/duebell"],
        "PassBellRole": ["the ARN of BellRole"],
    }
    role = worker_document(template["Resources"])
    both = statements_of(role, {"HasSchedule": {}})
    assert theirs == {statement["Sid"]: [statement["Resource"]] for statement in both}


def test_the_schedules_role_may_be_passed_to_its_service_only(template: Any, module: Any) -> None:
    role = worker_document(template["Resources"])
    for document in (role, properties(template, "EditorPolicy")["PolicyDocument"]):
        [ours] = [one for one in statements_of(document, {"HasSchedule": {}}) if one["Sid"] == "PassBellRole"]
        assert ours["Condition"] == {"StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}}
    documents = module["data"]["aws_iam_policy_document"]
    contents = [one["statement"]["content"][0] for one in documents["editor"]["dynamic"]]
    [theirs] = [one for one in contents if one["sid"] == "PassBellRole"]
    assert theirs["condition"] == [
        {
            "test": "StringEquals",
            "variable": "iam:PassedToService",
            "values": ["scheduler.amazonaws.com"],
        }
    ]


def test_the_schedule_may_wake_the_worker_and_nothing_else(template: Any, module: Any) -> None:
    ours = properties(template, "BellRole")
    assert _ours(ours["Policies"][0]["PolicyDocument"]) == _allowed(
        module["data"]["aws_iam_policy_document"]["bell"]
    )
    worker = properties(template, "Schedule")["Target"]["Arn"]
    wake, lost, _ = ours["Policies"][0]["PolicyDocument"]["Statement"]
    assert (wake["Action"], wake["Resource"]) == ("lambda:InvokeFunction", worker)
    assert (lost["Action"], lost["Resource"]) == ("sqs:SendMessage", {"Fn::GetAtt": ["LostRings", "Arn"]})
    # Only EventBridge Scheduler, for a schedule of this account's default group
    [trust] = ours["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "scheduler.amazonaws.com"}
    group = "arn:${AWS::Partition}:scheduler:${AWS::Region}:${AWS::AccountId}:schedule-group/default"
    assert trust["Condition"]["StringEquals"] == {
        "aws:SourceAccount": {"Ref": "AWS::AccountId"},
        "aws:SourceArn": {"Fn::Sub": group},
    }
    assumed = module["data"]["aws_iam_policy_document"]["assumed_by_scheduler"]["statement"][0]
    assert {one["variable"] for one in assumed["condition"]} == set(trust["Condition"]["StringEquals"])


def test_a_key_is_for_what_asks_for_it_on_their_behalf_only(template: Any, module: Any) -> None:
    # Given what each is allowed with a key, in CloudFormation
    editor = _conditions(properties(template, "EditorPolicy")["PolicyDocument"])
    worker = _conditions(worker_document(template["Resources"]))
    # Then an editor may use it as DynamoDB asks for the table's items, and no otherwise
    assert editor == {"Key": {"dynamodb.${AWS::Region}.*"}}
    assert worker == editor | {"WorkerKey": {"lambda.${AWS::Region}.*", "sqs.${AWS::Region}.*"}}
    # And the same in Terraform, whose worker has what its editor has
    documents = module["data"]["aws_iam_policy_document"]
    theirs = {name: _their_conditions(documents[name]) for name in ("editor", "worker")}
    assert theirs["editor"] == editor
    assert theirs["editor"] | theirs["worker"] == worker


def test_the_code_in_a_vpc_may_not_change_its_network(template: Any, module: Any) -> None:
    role = worker_document(template["Resources"])
    ours = {one["Fn::If"][1]["Sid"]: one["Fn::If"][1] for one in role["Statement"] if "Fn::If" in one}
    denied = ours["NotByItself"]
    assert denied["Effect"] == "Deny"
    assert set(denied["Action"]) == {one for one in ours["Network"]["Action"] if "Describe" not in one}
    worker = "arn:${AWS::Partition}:lambda:${AWS::Region}:${AWS::AccountId}:function:${Name}"
    assert denied["Condition"] == {"ArnEquals": {"lambda:SourceFunctionArn": {"Fn::Sub": worker}}}

    dynamics = module["data"]["aws_iam_policy_document"]["worker"]["dynamic"]
    statements = [one["statement"]["content"][0] for one in dynamics]
    [theirs] = [one for one in statements if one["sid"] == "NotByItself"]
    assert theirs["effect"] == "Deny"
    assert theirs["condition"] == [
        {"test": "ArnEquals", "variable": "lambda:SourceFunctionArn", "values": ["${local.worker}"]}
    ]


def _conditions(document: Any) -> dict[str, set[str]]:
    """What each conditional statement is for: always by `kms:ViaService`."""
    found = {}
    for given in document["Statement"]:
        statement = given["Fn::If"][1] if "Fn::If" in given else given
        if any(action.startswith("kms:") for action in statement["Action"]):
            values = statement["Condition"]["StringLike"]["kms:ViaService"]
            found[statement["Sid"]] = {
                one["Fn::Sub"] for one in (values if isinstance(values, list) else [values])
            }
    return found


def _their_conditions(document: Any) -> dict[str, set[str]]:
    found = {}
    for dynamic in document.get("dynamic", []):
        [statement] = dynamic["statement"]["content"]
        if statement["actions"][0].startswith("kms:"):
            [condition] = statement["condition"]
            assert (condition["test"], condition["variable"]) == ("StringLike", "kms:ViaService")
            found[statement["sid"]] = {
                value.replace("${data.aws_region.here.name}", "${AWS::Region}")
                for value in condition["values"]
            }
    return found


def _delivering(module: Any) -> dict[str, set[str]]:
    return {one["sid"]: {one["action"]} for one in module["locals"]["delivery_permissions"].values()}


def _allowed(document: Any) -> dict[str, set[str]]:
    statements = list(document["statement"])
    for dynamic in document.get("dynamic", []):
        if "delivery_permissions" not in str(dynamic):
            statements += dynamic["statement"]["content"]
    return {statement["sid"]: set(statement["actions"]) for statement in statements}


def _ours(document: Any) -> dict[str, set[str]]:
    found = {}
    for given in document["Statement"]:
        statement = given["Fn::If"][1] if "Fn::If" in given else given
        actions = statement["Action"]
        found[statement["Sid"]] = {actions} if isinstance(actions, str) else set(actions)
    return found


QUEUES = {
    "LostRings": "lost_rings",
    "FailedRuns": "failed_runs",
    "IntakeQueue": "intake",
    "IntakeDeadLetters": "intake_dead_letters",
}


def test_a_message_is_hidden_for_six_times_the_longest_run_and_the_batch_window(
    template: Any, module: Any
) -> None:
    # https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
    window = properties(template, "IntakeMapping")["MaximumBatchingWindowInSeconds"]
    parameters = template["Parameters"]
    hidden = parameters["IntakeVisibility"]["Default"]
    assert int(hidden) == 6 * int(parameters["Timeout"]["Default"]) + window
    assert properties(template, "IntakeQueue")["VisibilityTimeout"] == {"Ref": "IntakeVisibility"}
    theirs = module["resource"]["aws_sqs_queue"]["intake"]["visibility_timeout_seconds"]
    assert theirs == f"${{6 * var.timeout + {window}}}"


def test_a_message_that_kills_every_run_becomes_a_dead_letter_before_it_expires(template: Any) -> None:
    ours = properties(template, "IntakeQueue")
    longest = 6 * int(template["Parameters"]["Timeout"]["MaxValue"]) + 1
    tries = ours["RedrivePolicy"]["maxReceiveCount"]
    kept = properties(template, "IntakeDeadLetters")["MessageRetentionPeriod"]
    assert tries * longest < ours["MessageRetentionPeriod"] < kept


def test_no_queue_takes_a_call_without_tls(template: Any, module: Any) -> None:
    denied = {}
    for one in template["Resources"].values():
        if one["Type"] == "AWS::SQS::QueuePolicy":
            for statement in one["Properties"]["PolicyDocument"]["Statement"]:
                if statement["Effect"] == "Deny":
                    for queue in one["Properties"]["Queues"]:
                        denied[queue.get("Ref") or queue["Fn::If"][1]["Ref"]] = statement
    assert set(denied) == set(QUEUES)
    for statement in denied.values():
        assert (statement["Principal"], statement["Action"]) == ("*", "sqs:*")
        assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}

    documents = module["data"]["aws_iam_policy_document"]
    [theirs] = documents["tls_only"]["statement"]
    assert (theirs["effect"], theirs["actions"]) == ("Deny", ["sqs:*"])
    assert theirs["condition"] == [{"test": "Bool", "variable": "aws:SecureTransport", "values": ["false"]}]
    assert documents["lost_rings"]["source_policy_documents"] == [
        "${data.aws_iam_policy_document.tls_only.json}"
    ]
    for name in set(QUEUES.values()) - {"lost_rings"}:
        queue = module["resource"]["aws_sqs_queue"][name]
        assert queue["policy"] == "${data.aws_iam_policy_document.tls_only.json}"
    # Whoever lets others send to the intake gives its queue another policy.
    assert module["resource"]["aws_sqs_queue"]["intake"]["lifecycle"] == [{"ignore_changes": ["policy"]}]


NONE = {"Ref": "AWS::NoValue"}


def test_all_that_call_or_wake_the_worker_do_so_by_the_alias(template: Any) -> None:
    worker = "arn:${AWS::Partition}:lambda:${AWS::Region}:${AWS::AccountId}:function:${Name}"

    def by_alias(then: Any, otherwise: Any) -> dict[str, Any]:
        return {"Fn::If": ["StartsFromSnapshot", then, otherwise]}

    [target] = properties(template, "Rule")["Targets"]
    assert target["Arn"] == by_alias({"Fn::Sub": f"{worker}:live"}, {"Fn::Sub": worker})
    called = properties(template, "Permission")["FunctionName"]
    assert called == by_alias({"Ref": "Alias"}, {"Ref": "Function"})
    name = {"Fn::Select": [7, {"Fn::Split": [":", {"Ref": "Alias"}]}]}
    assert properties(template, "Retries")["Qualifier"] == by_alias(name, "$LATEST")
    variables = properties(template, "Function")["Environment"]["Variables"]
    assert variables["DUEBELL_FUNCTION"] == by_alias({"Fn::Sub": "${Name}:live"}, {"Ref": "Name"})
    output = template["Outputs"]["FunctionName"]["Value"]
    assert output == by_alias({"Fn::Sub": "${Function}:live"}, {"Ref": "Function"})


def test_editors_and_worker_may_call_it_only_where_it_is(template: Any) -> None:
    there = ("lambda:InvokeFunction", f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:duebell:live")
    for document in (
        properties(template, "EditorPolicy")["PolicyDocument"],
        worker_document(template["Resources"]),
    ):
        assert there not in granted(statements_of(document))
        assert there in granted(statements_of(document, {"StartsFromSnapshot": {}}))


def test_another_key_makes_another_version_of_another_function(template: Any) -> None:
    # Lambda publishes no version of a function that is as it was, so the key is in both.
    function, version = properties(template, "Function"), properties(template, "Version")
    assert function["SnapStart"] == {"Fn::If": ["StartsFromSnapshot", {"ApplyOn": "PublishedVersions"}, NONE]}
    assert function["Environment"]["Variables"]["DUEBELL_VERSION_KEY"] == {
        "Fn::If": ["StartsFromSnapshot", {"Ref": "VersionKey"}, NONE]
    }
    assert version["Description"] == {"Ref": "VersionKey"}
    alias = properties(template, "Alias")
    assert (alias["Name"], alias["FunctionVersion"]) == ("live", {"Fn::GetAtt": ["Version", "Version"]})
    for name in ("Version", "Alias"):
        assert template["Resources"][name]["Condition"] == "StartsFromSnapshot"
        assert "DeletionPolicy" not in template["Resources"][name]  # a version that was replaced is deleted
