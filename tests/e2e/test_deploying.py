"""Deploying and destroying, through the real template and bundle, against the embedded stack."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from duebell_editor import Editor
from duebell_infra import deploy as module
from duebell_infra.artifacts import Artifacts
from duebell_infra.deploy import Deployment, deploy
from duebell_infra.destroy import Queue, destroy
from duebell_infra.errors import DeployFailed
from duebell_infra.local import EmbeddedStack
from duebell_infra.stack import Stack
from duebell_infra.target import Place
from duebell_infra.template import template_text
from duebell_shared.rule import SENTINEL, expression_at

pytestmark = pytest.mark.e2e

LATER = datetime(2100, 1, 1, tzinfo=UTC)


class Deployer:
    """Deploys one stack of its own beside the shared one, and notes what it is told."""

    def __init__(self, stack: EmbeddedStack, name: str) -> None:
        self.session = stack.session
        self.deployment = Deployment(
            name=name,
            actions="actions_for_tests:worker",
            folder=Path(__file__).parent,
            place=Place.THIS_MACHINE,
        )
        self.said: list[str] = []

    @property
    def name(self) -> str:
        return self.deployment.name

    def deploy(self, **parameters: str) -> Editor:
        deployment = replace(self.deployment, parameters=parameters)
        settings = deploy(self.session, deployment, say=self.said.append, progress=self.said.append)
        return Editor(settings, session=self.session)

    def destroy(self, queue: Queue) -> None:
        destroy(self.session, self.name, queue=queue, say=self.said.append)

    @property
    def rule(self) -> str:
        return self.session.client("events").describe_rule(Name=self.name)["ScheduleExpression"]

    @property
    def function(self) -> dict[str, object]:
        return dict(self.session.client("lambda").get_function_configuration(FunctionName=self.name))

    @property
    def status(self) -> str:
        return self.session.client("cloudformation").describe_stacks(StackName=self.name)["Stacks"][0][
            "StackStatus"
        ]


@pytest.fixture
def deployer(stack: EmbeddedStack, request: pytest.FixtureRequest) -> Iterator[Deployer]:
    name = request.node.name.removeprefix("test_").replace("_", "-")[:40]
    deployer = Deployer(stack, name)
    yield deployer
    deployer.destroy(Queue.DELETE)


def test_a_new_stack_is_parked_and_wired(deployer: Deployer) -> None:
    editor = deployer.deploy()

    assert deployer.rule == SENTINEL
    assert editor.status().healthy
    assert deployer.function["Handler"] == "duebell_worker.entry.handler"
    assert deployer.said[-1] == f"stack {deployer.name}: created"


def test_deploying_again_changes_nothing(deployer: Deployer) -> None:
    deployer.deploy()
    deployer.deploy()

    assert deployer.said[-1] == f"stack {deployer.name}: nothing to change"


def test_an_armed_rule_is_left_alone(deployer: Deployer) -> None:
    deployer.deploy().add("succeed", due=LATER)
    armed = deployer.rule
    assert armed == expression_at(LATER)

    deployer.deploy(MemorySize="1024", Timeout="60")

    assert deployer.function["MemorySize"] == 1024
    assert deployer.rule == armed


def test_cloudformation_itself_leaves_the_rule_alone(deployer: Deployer) -> None:
    deployer.deploy()
    events = deployer.session.client("events")
    events.put_rule(Name=deployer.name, ScheduleExpression=expression_at(LATER))
    stack = Stack(deployer.session.client("cloudformation"), deployer.name, progress=deployer.said.append)
    parameters = {**stack.parameters(), "MemorySize": "1024"}

    stack.apply(template_text(), parameters, tags={"duebell": deployer.name})

    assert deployer.function["MemorySize"] == 1024
    assert deployer.rule == expression_at(LATER)


def test_what_is_not_given_stays_as_it_was(deployer: Deployer) -> None:
    deployer.deploy(MemorySize="1024")
    deployer.deploy(Timeout="60")

    assert (deployer.function["MemorySize"], deployer.function["Timeout"]) == (1024, 60)


def test_a_rule_that_was_moved_is_set_right(deployer: Deployer) -> None:
    deployer.deploy().add("succeed", due=LATER)
    deployer.session.client("events").put_rule(Name=deployer.name, ScheduleExpression=SENTINEL)

    deployer.deploy()

    assert deployer.rule == expression_at(LATER)


def test_a_failure_gives_the_reasons_and_a_way_out(
    deployer: Deployer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        broken = template_text().replace("Qualifier: $LATEST", "Qualifier: missing")
        patch.setattr(module, "template_text", lambda: broken)
        with pytest.raises(DeployFailed, match=r"is in ROLLBACK_COMPLETE: Retries: .*missing"):
            deployer.deploy()
    assert deployer.status == "ROLLBACK_COMPLETE"
    assert any("CREATE_FAILED" in line for line in deployer.said)

    assert deployer.deploy().status().healthy
    assert any("deleting it first" in line for line in deployer.said)


def test_a_failed_update_leaves_the_rule_armed(deployer: Deployer, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = deployer.deploy()
    editor.add("succeed", due=LATER)
    with monkeypatch.context() as patch:
        patch.setattr(Artifacts, "upload", lambda *_: "bundles/missing.zip")
        with pytest.raises(DeployFailed, match="UPDATE_ROLLBACK_COMPLETE"):
            deployer.deploy()

    assert editor.status().healthy
    assert deployer.rule == expression_at(LATER)


def test_a_wrong_parameter_is_named(deployer: Deployer) -> None:
    with pytest.raises(DeployFailed, match="MemorySize"):
        deployer.deploy(MemorySize="1")


def test_a_kept_queue_is_taken_up_again(deployer: Deployer) -> None:
    deployer.deploy().add("succeed", due=LATER, id="kept")
    deployer.destroy(Queue.KEEP)
    assert "--delete-table" in deployer.said[-1]

    editor = deployer.deploy()

    assert editor.get("kept").due == LATER
    assert deployer.rule == expression_at(LATER)
    deployer.deploy(MemorySize="1024")
    assert editor.get("kept").due == LATER


def test_destroying_with_the_table_leaves_nothing(deployer: Deployer) -> None:
    deployer.deploy().add("succeed", due=LATER, id="gone")
    deployer.destroy(Queue.DELETE)

    assert deployer.name not in deployer.session.client("dynamodb").list_tables()["TableNames"]
    rules = deployer.session.client("events").list_rules()["Rules"]
    assert deployer.name not in [rule["Name"] for rule in rules]
    assert deployer.deploy().list().tasks == ()


def test_someone_elses_table_is_not_touched(deployer: Deployer) -> None:
    dynamodb = deployer.session.client("dynamodb")
    dynamodb.create_table(
        TableName=deployer.name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "key", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "key", "KeyType": "HASH"}],
    )
    for action in (deployer.deploy, lambda: deployer.destroy(Queue.DELETE)):
        with pytest.raises(DeployFailed, match="not a queue of duebell's"):
            action()
    dynamodb.delete_table(TableName=deployer.name)
