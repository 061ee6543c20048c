"""The stack's queues: how long messages are hidden and kept, and who may not call them."""

from typing import Any

from tests.infra.both import properties

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
