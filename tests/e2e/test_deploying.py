"""Deploying and destroying for real: the stack, its table, and the rule, which is armed whatever happened."""

import json
import re

import pytest

from duebell import Status
from duebell_infra.deploy import deploy as module
from duebell_infra.deploy.stack import Stack, template_text
from duebell_infra.errors import DeployFailed
from duebell_infra.local.stack import EmbeddedStack
from duebell_shared.bell.expression import SENTINEL
from tests.e2e.deployer import LATER, Deployer
from tests.e2e.support import wait_for
from tests.e2e.test_ringing import SOON
from tests.support import SetFor

pytestmark = pytest.mark.e2e


def test_the_whole_way(deployer: Deployer) -> None:
    # Given a stack, which is parked
    editor = deployer.deploy()
    assert (deployer.rule, deployer.said[-1]) == (SENTINEL, f"stack {deployer.name}: created")
    assert editor.status().healthy
    # When tasks are added, the rule really rings, the bundle runs, and the rule is armed for the next
    editor.add("succeed", due=SOON, id="soon")
    editor.add("succeed", due=LATER, id="later")
    wait_for(lambda: editor.get("soon").status is Status.DONE)
    wait_for(lambda: deployer.rule == SetFor(LATER))

    # Then a setting can change, and the rule stays armed
    deployer.deploy(MemorySize="1024")
    assert deployer.function["MemorySize"] == 1024
    assert deployer.rule == SetFor(LATER)
    # And nothing is left to change
    deployer.deploy()
    assert deployer.said[-1] == f"stack {deployer.name}: nothing to change"
    # And the queue outlives the stack, unless it is deleted with it
    deployer.destroy()
    assert editor.get("later").due == LATER
    deployer.deploy()
    deployer.destroy(delete_table=True)
    assert deployer.name not in deployer.session.client("dynamodb").list_tables()["TableNames"]
    rules = deployer.session.client("events").list_rules()["Rules"]
    assert deployer.name not in [rule["Name"] for rule in rules]


def test_a_failure_gives_the_reasons_and_a_way_out(
    deployer: Deployer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        broken = re.sub("Qualifier: .*", "Qualifier: missing", template_text())
        patch.setattr(module, "template_text", lambda: broken)
        with pytest.raises(DeployFailed, match=r"is in ROLLBACK_COMPLETE: Retries: .*missing"):
            deployer.deploy()
    assert deployer.status == "ROLLBACK_COMPLETE"
    assert any("CREATE_FAILED" in line for line in deployer.said)

    assert deployer.deploy().status().healthy
    assert any("deleting it first" in line for line in deployer.said)


def test_all_that_is_optional(deployer: Deployer) -> None:
    session = deployer.session
    key = session.client("kms").create_key()["KeyMetadata"]["Arn"]
    topic = session.client("sns").create_topic(Name=deployer.name)["TopicArn"]
    more = {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Action": "sns:Publish", "Resource": topic}],
    }
    made = session.client("iam").create_policy(PolicyName=deployer.name, PolicyDocument=json.dumps(more))
    policy = made["Policy"]["Arn"]

    editor = deployer.deploy(
        KmsKeyArn=key,  # the emulator takes it, and tells nothing of it afterwards
        AlarmTopicArn=topic,
        SavedQueries="no",  # the emulator has none
        Tracing="yes",
        WorkerPolicies=policy,
        Environment=json.dumps({"GREETING": "hello"}),
        DeletionProtection="no",
    )

    assert editor.status().healthy
    assert deployer.function["TracingConfig"] == {"Mode": "Active"}
    table = session.client("dynamodb").describe_table(TableName=deployer.name)["Table"]
    assert table["DeletionProtectionEnabled"] is False
    alarms = session.client("cloudwatch").describe_alarms(AlarmNamePrefix=deployer.name)["MetricAlarms"]
    assert {action for alarm in alarms for action in alarm["AlarmActions"]} == {topic}
    assert len(alarms) == 8
    # What the actions are given: an environment, and policies
    editor.add("tell", due=SOON, id="told", payload="GREETING")
    assert deployer.why_failed(editor, "told") == "hello"
    attached = session.client("iam").list_attached_role_policies(RoleName=deployer.role)["AttachedPolicies"]
    assert [one["PolicyArn"] for one in attached] == [policy]


def test_a_restored_queue_goes_on_under_its_own_name(deployer: Deployer, stack: EmbeddedStack) -> None:
    deployer.deploy().add("succeed", due=LATER, id="restored")
    dynamodb = deployer.session.client("dynamodb")
    restored = Deployer(stack, "restored-queue")
    dynamodb.restore_table_to_point_in_time(
        SourceTableName=deployer.name, TargetTableName=restored.name, UseLatestRestorableTime=True
    )
    dynamodb.get_waiter("table_exists").wait(TableName=restored.name)

    editor = restored.deploy()

    assert editor.get("restored").due == LATER
    assert restored.rule == SetFor(LATER)
    assert editor.status().healthy
    # And what a restored table lacks is made up for
    assert restored.table["DeletionProtectionEnabled"] is True
    assert restored.expires
    restored.destroy(delete_table=True)


def test_someone_elses_table_is_not_touched(deployer: Deployer) -> None:
    dynamodb = deployer.session.client("dynamodb")
    dynamodb.create_table(
        TableName=deployer.name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "key", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "key", "KeyType": "HASH"}],
    )
    for action in (deployer.deploy, lambda: deployer.destroy(delete_table=True)):
        with pytest.raises(DeployFailed, match="not a queue of duebell's"):
            action()
    dynamodb.delete_table(TableName=deployer.name)


def with_another_rule() -> str:
    """A later version of the template, in which the rule's target had to change."""
    before, after = "MaximumRetryAttempts: 185", "MaximumRetryAttempts: 100"
    assert before in template_text()
    return template_text().replace(before, after)


def apply(deployer: Deployer, template: str) -> None:
    """What CloudFormation alone does, without what `duebell deploy` does beside."""
    stack = Stack(deployer.session.client("cloudformation"), deployer.name, progress=deployer.said.append)
    stack.apply(template, stack.parameters(), tags={"duebell": deployer.name})


def retries(deployer: Deployer) -> int:
    [target] = deployer.session.client("events").list_targets_by_rule(Rule=deployer.name)["Targets"]
    return target["RetryPolicy"]["MaximumRetryAttempts"]


def test_a_change_of_the_rule_itself_ends_with_it_armed(
    deployer: Deployer, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployer.deploy().add("succeed", due=LATER)
    text = with_another_rule()
    apply(deployer, text)
    assert deployer.rule == SENTINEL  # what CloudFormation alone does to a rule that is to change

    monkeypatch.setattr(module, "template_text", lambda: text)
    deployer.deploy()

    assert (deployer.rule, retries(deployer)) == (SetFor(LATER), 100)


def test_a_change_of_the_rule_that_is_rolled_back_ends_with_it_armed(
    deployer: Deployer, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployer.deploy().add("succeed", due=LATER)
    broken = re.sub("Qualifier: .*", "Qualifier: missing", with_another_rule())
    with monkeypatch.context() as patch:
        patch.setattr(module, "template_text", lambda: broken)
        with pytest.raises(DeployFailed, match="missing"):
            deployer.deploy()

    assert (deployer.rule, retries(deployer)) == (SetFor(LATER), 185)
