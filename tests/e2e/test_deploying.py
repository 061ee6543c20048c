"""Deploying for real: the stack, its table, the code, and the rule, which is armed whatever happened."""

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest

from duebell import Editor, Status
from duebell_infra.bundle.target import Target
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


def test_a_failure_gives_reasons_and_a_way_out(deployer: Deployer, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        broken = re.sub("Qualifier: .*", "Qualifier: missing", template_text())
        patch.setattr(module, "template_text", lambda: broken)
        with pytest.raises(DeployFailed, match=r"is in ROLLBACK_COMPLETE: Retries: .*missing"):
            deployer.deploy()
    assert deployer.stack["StackStatus"] == "ROLLBACK_COMPLETE"
    assert any("CREATE_FAILED" in line for line in deployer.said)

    assert deployer.deploy().status().healthy
    assert any("deleting it first" in line for line in deployer.said)


def test_all_that_is_optional(deployer: Deployer) -> None:
    session = deployer.session
    key = session.client("kms").create_key()["KeyMetadata"]["Arn"]
    topic = session.client("sns").create_topic(Name=deployer.name)["TopicArn"]
    statement = {"Effect": "Allow", "Action": "sns:Publish", "Resource": topic}
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    made = session.client("iam").create_policy(PolicyName=deployer.name, PolicyDocument=document)
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
    # The actions have an environment, and policies
    editor.add("tell", due=SOON, id="told", payload="GREETING")
    assert deployer.why_failed(editor, "told") == "hello"
    role = str(deployer.function["Role"]).rpartition("/")[2]
    attached = session.client("iam").list_attached_role_policies(RoleName=role)["AttachedPolicies"]
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
    table = dynamodb.describe_table(TableName=restored.name)["Table"]
    assert table["DeletionProtectionEnabled"] is True
    expiry = dynamodb.describe_time_to_live(TableName=restored.name)["TimeToLiveDescription"]
    assert expiry["AttributeName"] == "expires_at"
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


def test_a_change_of_the_rule_itself_ends_with_it_armed(
    deployer: Deployer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def retries() -> int:
        [target] = deployer.session.client("events").list_targets_by_rule(Rule=deployer.name)["Targets"]
        return target["RetryPolicy"]["MaximumRetryAttempts"]

    # Given a later version of the template, in which the rule's target had to change
    deployer.deploy().add("succeed", due=LATER)
    text = template_text().replace("MaximumRetryAttempts: 185", "MaximumRetryAttempts: 100")
    # When it cannot be deployed, then it is rolled back, and the rule is armed
    broken = re.sub("Qualifier: .*", "Qualifier: missing", text)
    monkeypatch.setattr(module, "template_text", lambda: broken)
    with pytest.raises(DeployFailed, match="missing"):
        deployer.deploy()
    assert (deployer.rule, retries()) == (SetFor(LATER), 185)
    # When CloudFormation alone makes the change, then the rule is parked
    stack = Stack(deployer.session.client("cloudformation"), deployer.name, progress=deployer.said.append)
    stack.apply(text, stack.parameters(), tags={"duebell": deployer.name})
    assert (deployer.rule, retries()) == (SENTINEL, 100)
    # And it is armed by a deployment
    monkeypatch.setattr(module, "template_text", lambda: text)
    deployer.deploy()
    assert deployer.rule == SetFor(LATER)


VERSION = """
from duebell import Abort, Worker
worker = Worker.from_env()
@worker.action
def which():
    raise Abort("version {number}")
"""


def test_the_code_is_upgraded_and_rolled_back_while_tasks_wait(deployer: Deployer, tmp_path: Path) -> None:
    def deploy(number: int) -> Editor:
        folder = tmp_path / str(number)
        folder.mkdir(exist_ok=True)
        (folder / "versioned.py").write_text(VERSION.format(number=number))
        return deployer.deploy(folder=folder, actions="versioned:worker")

    editor = deploy(1)
    editor.add("which", due=LATER, id="later")
    for number in (2, 1):
        # When a task is added before a version is deployed, then that one runs it
        id = f"before {number}"
        editor.add("which", due=timedelta(seconds=5), id=id)  # not so soon that the worker is called for it
        deploy(number)
        assert deployer.why_failed(editor, id) == f"version {number}"
    # And the rule is armed for what is due later
    assert deployer.rule == SetFor(LATER)


def test_with_snap_start_each_change_of_the_worker_is_a_version_that_the_rule_wakes(
    deployer: Deployer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given SnapStart. The emulator takes no snapshot, and runs this machine's Python
    monkeypatch.setattr(Target, "runtime", property(lambda _: "python3.13"))
    functions = deployer.session.client("lambda")

    def versions() -> list[str]:
        """All versions, and the live one."""
        listed = functions.list_versions_by_function(FunctionName=deployer.name)["Versions"]
        live = functions.get_alias(FunctionName=deployer.name, Name="live")["FunctionVersion"]
        return [*(one["Version"] for one in listed if one["Version"] != "$LATEST"), live]

    editor = deployer.deploy(SnapStart="yes")
    assert versions() == ["1", "1"]
    # When a task is due, the rule wakes the version
    editor.add("succeed", due=SOON, id="soon")
    editor.add("succeed", due=LATER, id="later")
    wait_for(lambda: editor.get("soon").status is Status.DONE)
    # Then a change of a setting is another version, and the one before is gone
    deployer.deploy(MemorySize="1024")
    assert versions() == ["2", "2"]
    config = functions.get_function_configuration(FunctionName=f"{deployer.name}:live")
    assert (config["MemorySize"], config["SnapStart"]["ApplyOn"]) == (1024, "PublishedVersions")
    # And so is a change of the code, and the same again is none
    (tmp_path / "jobs.py").write_text("from duebell import Worker\nworker = Worker.from_env()\n")
    for _ in range(2):
        deployer.deploy(folder=tmp_path, actions="jobs:worker")
        assert versions() == ["3", "3"]
    # And without SnapStart the function itself is woken again, and the rule is armed for what waits
    deployer.deploy(SnapStart="no")
    assert len(functions.list_versions_by_function(FunctionName=deployer.name)["Versions"]) == 1
    [target] = deployer.session.client("events").list_targets_by_rule(Rule=deployer.name)["Targets"]
    assert target["Arn"].endswith(f":function:{deployer.name}")
    assert editor.status().healthy
