"""CloudFormation and Terraform allow the same, on the same: roles, queues, versions of the worker."""

import re
from typing import Any

from duebell_infra.deploy.deliveries import LISTS
from tests.infra.conftest import properties
from tests.infra.policies import ACCOUNT, statements_of, worker_document
from tests.support import REGION

HERE = f"{REGION}:{ACCOUNT}"
WORKER = f"arn:aws:lambda:{HERE}:function:duebell"

#: Values of the module as the template's are resolved.
RESOLVED = {
    "${local.woken}": "${local.worker}:live",
    "${data.aws_partition.here.partition}": "aws",
    "${data.aws_region.here.name}": REGION,
    "${data.aws_caller_identity.here.account_id}": ACCOUNT,
    "${var.name}": "duebell",
    "${var.kms_key_arn}": "the key",
    "${aws_cloudwatch_log_group.worker.arn}:*": "the ARN of Log",  # CloudFormation's ends with it
    "${aws_iam_role.bell[*].arn}": "the ARN of BellRole",
    "${aws_sqs_queue.failed_runs.arn}": f"arn:aws:sqs:{HERE}:duebell-failed-runs",
    "${aws_sqs_queue.lost_rings.arn}": f"arn:aws:sqs:{HERE}:duebell-lost-rings",
}
RESOLVED |= {
    f"${{aws_sqs_queue.{name}[{which}].arn}}": f"the ARN of {ours}"
    for name, ours in (("intake", "IntakeQueue"), ("intake_dead_letters", "IntakeDeadLetters"))
    for which in "0*"
}

#: The queues that the template names in one place and refers to in another.
QUEUE_ARNS = {
    "the ARN of FailedRuns": f"arn:aws:sqs:{HERE}:duebell-failed-runs",
    "the ARN of LostRings": f"arn:aws:sqs:{HERE}:duebell-lost-rings",
}

#: The effect, the actions, the resources and the conditions of statements, by their Sids.
Allowed = dict[str, tuple[str, set[str], set[str], dict[tuple[str, str], set[str]]]]


def listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def ours(template: Any, document: Any) -> Allowed:
    """The statements if all is turned on, with deliveries to nothing."""
    lists: dict[str, list[str]] = {parameter: [] for parameter in LISTS.values()}
    given = {
        name: {"KmsKeyArn": ["the key"], **lists} if name == "HasKey" else {}
        for name in template["Conditions"]
    }
    return {
        one["Sid"]: (
            one["Effect"],
            {*listed(one["Action"])},
            {QUEUE_ARNS.get(resource, resource) for resource in listed(one["Resource"])},
            {
                (test, variable): {*listed(value)}
                for test, variables in one.get("Condition", {}).items()
                for variable, value in variables.items()
            },
        )
        for one in statements_of(document, given)
    }


def theirs(module: Any, name: str) -> Allowed:
    """The same of a document of the module."""

    def plain(text: str) -> str:
        for value, resolved in RESOLVED.items():
            text = text.replace(value, resolved)
        inner = re.sub(r"\$\{local\.(\w+)\}", lambda local: module["locals"][local[1]], text)
        return text if inner == text else plain(inner)

    document = module["data"]["aws_iam_policy_document"][name]
    statements = list(document["statement"])
    for dynamic in (one["statement"] for one in document.get("dynamic", [])):
        [content] = dynamic["content"]
        if "deliveries_allowed" in dynamic["for_each"]:
            statements += (
                {"sid": one["sid"], "actions": [one["action"]], "resources": []}
                for one in module["locals"]["delivery_permissions"].values()
            )
        else:
            value = re.sub(r'.* \? (?:\[\] : )?\[(?:"(.*)"|(.*?))\].*', _value, dynamic["for_each"])
            resources = [one.replace("${statement.value}", value) for one in content["resources"]]
            statements.append({**content, "resources": resources})
    return {
        one["sid"]: (
            one.get("effect", "Allow"),
            {*one["actions"]},
            {*map(plain, one["resources"])},
            {
                (each["test"], each["variable"]): {*map(plain, each["values"])}
                for each in one.get("condition", [])
            },
        )
        for one in statements
    }


def _value(found: "re.Match[str]") -> str:
    return found[1] or f"${{{found[2]}}}"


def test_the_permissions(template: Any, module: Any) -> None:
    editor = theirs(module, "editor")
    policy = properties(template, "EditorPolicy")["PolicyDocument"]
    assert ours(template, policy) == editor | theirs(module, "editor_policy")
    worker = ours(template, worker_document(template["Resources"]))
    assert worker == editor | theirs(module, "worker")
    # A key is for what asks for it on their behalf, and the schedule's role for its service
    assert {sid: conditions for sid, (*_, conditions) in worker.items() if conditions} == {
        "Key": {("StringLike", "kms:ViaService"): {f"dynamodb.{REGION}.*"}},
        "WorkerKey": {("StringLike", "kms:ViaService"): {f"lambda.{REGION}.*", f"sqs.{REGION}.*"}},
        "PassBellRole": {("StringEquals", "iam:PassedToService"): {"scheduler.amazonaws.com"}},
        "NotByItself": {("ArnEquals", "lambda:SourceFunctionArn"): {WORKER}},
    }
    # And the code in a VPC may not change its network
    effect, denied, *_ = worker["NotByItself"]
    assert (effect, denied) == ("Deny", {one for one in worker["Network"][1] if "Describe" not in one})


def test_the_schedule_may_wake_the_worker_and_nothing_else(template: Any, module: Any) -> None:
    role = properties(template, "BellRole")
    allowed = ours(template, role["Policies"][0]["PolicyDocument"])
    assert allowed == theirs(module, "bell")
    assert allowed.keys() == {"Wake", "LostRings", "Key"}
    assert allowed["Wake"][1:3] == ({"lambda:InvokeFunction"}, {f"{WORKER}:live"})
    # Only EventBridge Scheduler, for a schedule of this account's default group
    [trust] = role["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "scheduler.amazonaws.com"}
    group = "arn:${AWS::Partition}:scheduler:${AWS::Region}:${AWS::AccountId}:schedule-group/default"
    assert trust["Condition"]["StringEquals"] == {
        "aws:SourceAccount": {"Ref": "AWS::AccountId"},
        "aws:SourceArn": {"Fn::Sub": group},
    }
    assumed = module["data"]["aws_iam_policy_document"]["assumed_by_scheduler"]["statement"][0]
    assert {one["variable"] for one in assumed["condition"]} == set(trust["Condition"]["StringEquals"])


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
    assert denied.keys() == {"LostRings", "FailedRuns", "IntakeQueue", "IntakeDeadLetters"}
    for statement in denied.values():
        assert (statement["Principal"], statement["Action"]) == ("*", "sqs:*")
        assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}

    document = "${data.aws_iam_policy_document.tls_only.json}"
    insecure = {("Bool", "aws:SecureTransport"): {"false"}}
    assert theirs(module, "tls_only") == {"TlsOnly": ("Deny", {"sqs:*"}, {"*"}, insecure)}
    documents, queues = module["data"]["aws_iam_policy_document"], module["resource"]["aws_sqs_queue"]
    assert documents["lost_rings"]["source_policy_documents"] == [document]
    policies = {name: queue["policy"] for name, queue in queues.items() if name != "lost_rings"}
    assert policies == dict.fromkeys(("failed_runs", "intake", "intake_dead_letters"), document)
    # Whoever lets others send to the intake gives its queue another policy.
    assert queues["intake"]["lifecycle"] == [{"ignore_changes": ["policy"]}]


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
