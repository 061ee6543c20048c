"""The construct for the AWS CDK, synthesised; CloudFormation gets what `duebell deploy` would give it."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from duebell_infra.bundle import bundle
from duebell_infra.bundle.dependencies import install
from duebell_infra.bundle.sources import Files
from duebell_infra.bundle.target import Target
from duebell_infra.deploy.deliveries import LISTS
from duebell_infra.deploy.parameters import IN_TEMPLATE
from duebell_infra.errors import BundleFailed, InvalidDeployment
from duebell_shared.errors import InvalidInput

if os.environ.get("DUEBELL_CDK") != "required":
    pytest.importorskip("aws_cdk", reason="the AWS CDK is not installed: pip install -r requirements-cdk.txt")
if shutil.which("node") is None:
    pytest.skip("the CDK needs Node.js", allow_module_level=True)

from aws_cdk import App, Fn, Stack
from aws_cdk.aws_ec2 import SecurityGroup, Vpc
from aws_cdk.aws_iam import Role, ServicePrincipal
from aws_cdk.aws_sns import Topic
from aws_cdk.aws_sqs import Queue

from duebell.cdk import Scheduler
from duebell_infra.deploy import cdk

pytestmark = pytest.mark.slow

#: The target of the delivery that the code of the project declares.
TOLD = "arn:aws:sqs:eu-central-1:123456789012:told"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project with a Worker and a module beside it, whose folder is the current one."""
    made = (
        f"import prices\nfrom duebell import Worker\nworker = Worker()\nworker.deliver('tell', to='{TOLD}')\n"
    )
    (tmp_path / "jobs.py").write_text(made)
    (tmp_path / "prices.py").write_text("")
    monkeypatch.chdir(tmp_path)

    def libraries(folder: Path, _: Target, **options: Any) -> Files:
        return install(folder, Target.this_machine(), **options)  # those of the target would be downloaded

    monkeypatch.setattr(bundle, "install", libraries)


@pytest.fixture
def stack(tmp_path: Path) -> Stack:
    return Stack(App(outdir=str(tmp_path / "cdk.out")), "Shop")


def test_an_intake_is_made_and_may_be_sent_to(stack: Stack) -> None:
    assert Scheduler(stack, "Plain", actions="jobs:worker", name="plain").intake is None
    scheduler = Scheduler(stack, "Scheduler", actions="jobs:worker", intake=True)
    assert scheduler.environment["DUEBELL_INTAKE"] == "duebell-intake"
    role = Role(stack, "Sender", assumed_by=ServicePrincipal("lambda.amazonaws.com"))
    assert scheduler.intake
    scheduler.intake.grant_send_messages(role)
    made = synthesised(stack)
    [policy] = [one for key, one in made["Resources"].items() if key.startswith("SenderDefaultPolicy")]
    [statement] = policy["Properties"]["PolicyDocument"]["Statement"]
    assert "sqs:SendMessage" in statement["Action"]
    queue = statement["Resource"]["Fn::GetAtt"][0]
    assert made["Resources"][queue]["Properties"]["VisibilityTimeout"]
    with pytest.raises(InvalidDeployment, match="Intake"):
        Scheduler(stack, "Other", actions="jobs:worker", parameters={"Intake": "yes"})


def synthesised(stack: Stack) -> Any:
    return json.loads(Path(stack.node.root.synth().get_stack_by_name("Shop").template_full_path).read_text())  # type: ignore[attr-defined]


def of_type(template: Any, type: str) -> list[Any]:
    return [one for one in template["Resources"].values() if one["Type"] == type]


def test_it_is_the_template_with_its_values(stack: Stack, template: Any) -> None:
    Scheduler(
        stack,
        "Tasks",
        name="shop",
        actions="jobs:worker",
        environment={"PLACE": "Berlin"},
        parameters={"MemorySize": 1024, "AlarmMail": "oncall@example.com", "Layers": ["arn:one", "arn:two"]},
    )
    made = synthesised(stack)
    assert sorted(one["Type"] for one in made["Resources"].values()) == sorted(
        one["Type"] for one in template["Resources"].values()
    )
    [function] = of_type(made, "AWS::Lambda::Function")
    variables = function["Properties"]["Environment"]["Variables"]
    assert variables["DUEBELL_WORKER"] == "jobs:worker"
    assert json.loads(variables["DUEBELL_ENVIRONMENT"]) == {"PLACE": "Berlin"}
    assert function["Properties"]["FunctionName"] == "shop"
    assert int(function["Properties"]["MemorySize"]) == 1024
    assert function["Properties"]["Layers"]["Fn::If"][1] == ["arn:one", "arn:two"]
    assert function["Properties"]["Code"]["S3Key"].endswith(".zip")
    [subscription] = of_type(made, "AWS::SNS::Subscription")
    assert subscription["Properties"]["Endpoint"] == "oncall@example.com"
    # And the rule is what every other deployment makes, so that none disarms it
    [rule] = [one for one in of_type(made, "AWS::Events::Rule") if "HasRule" in one["Condition"]]
    assert set(rule["Properties"]) == set(template["Resources"]["Rule"]["Properties"])
    [table] = of_type(made, "AWS::DynamoDB::Table")
    assert table["DeletionPolicy"] == "Retain"
    # And the worker may send what its code declares
    assert allowed(made)["DeliverToQueues"] == [TOLD]


def allowed(template: Any) -> dict[str, Any]:
    """The ARNs that the worker's role may send to or read, by the statement's id."""
    [policy] = [one["Properties"] for key, one in template["Resources"].items() if "SendingPolicy" in key]
    statements = [one["Fn::If"][1] for one in policy["PolicyDocument"]["Statement"] if "Fn::If" in one]
    return {one["Sid"]: one["Resource"] for one in statements}


def test_what_the_same_stack_makes_may_be_given(stack: Stack) -> None:
    # Given a topic and a VPC that are made with it
    topic, vpc = Topic(stack, "Oncall"), Vpc(stack, "Network")
    group = SecurityGroup(stack, "Group", vpc=vpc)
    parameters = {
        "AlarmTopicArn": topic.topic_arn,
        "SubnetIds": [subnet.subnet_id for subnet in vpc.private_subnets],
        "SecurityGroupIds": [group.security_group_id],
    }
    Scheduler(stack, "Tasks", actions="jobs:worker", parameters=parameters)
    # Then no condition refers to a resource, which CloudFormation would refuse
    made = synthesised(stack)
    conditions = json.dumps(made["Conditions"])
    assert not [name for name in made["Resources"] if f'"Ref": "{name}"' in conditions]
    assert "GetAtt" not in conditions
    for name in ("IsInVpc", "TellsTopic"):
        [condition] = [one for key, one in made["Conditions"].items() if name in key]
        assert condition == {"Fn::Equals": ["yes", "yes"]}


def test_deliveries_go_to_what_is_named(tmp_path: Path) -> None:
    place = {"region": "eu-central-1", "account": "123456789012"}
    stack = Stack(App(outdir=str(tmp_path / "cdk.out")), "Shop", env=place)
    queue = f"arn:aws:sqs:{stack.region}:{stack.account}:reminders"
    secret = f"arn:aws:ssm:{stack.region}:{stack.account}:parameter/signing"
    signed = {"to": "https://example.com/hook", "secret": secret}
    Scheduler(stack, "Tasks", deliveries={"remind": queue, "tell": signed})
    # Then the worker, without any code, is told of them
    made = synthesised(stack)
    [function] = of_type(made, "AWS::Lambda::Function")
    variables = function["Properties"]["Environment"]["Variables"]
    assert variables["DUEBELL_WORKER"] == ""
    assert json.loads(variables["DUEBELL_DELIVERIES"]) == {"remind": {"to": queue}, "tell": signed}
    # And its role may send to each
    statements = allowed(made)
    assert (statements["DeliverToQueues"], statements["ReadParameters"]) == ([queue], [secret])


def test_deliveries_that_cannot_be_right_are_refused(stack: Stack) -> None:
    for given, why in (
        ({"remind": Queue(stack, "Reminders").queue_arn}, "'remind': only CloudFormation knows an ARN in it"),
        ({"remind": {"to": "arn:aws:sqs:x"}}, "is no ARN"),
        ({"remind": {"to": "https://example.com", "group": "a"}}, "group"),
    ):
        with pytest.raises(InvalidInput, match=why):
            Scheduler(stack, "Tasks", deliveries=given)  # type: ignore[arg-type]
        stack.node.try_remove_child("Tasks")


def test_a_service_is_let_add_tasks(stack: Stack) -> None:
    days = Fn.import_value("days")  # known to CloudFormation alone
    parameters: dict[str, Any] = {"History": "failed", "RetentionDays": days, "MemorySize": 512}
    scheduler = Scheduler(stack, "Tasks", name="shop", actions="jobs:worker", parameters=parameters)
    role = Role(stack, "Service", assumed_by=ServicePrincipal("lambda.amazonaws.com"))
    scheduler.grant_editing(role)
    scheduler.function.grant_invoke(role)

    names = dict.fromkeys(("DUEBELL_TABLE", "DUEBELL_RULE", "DUEBELL_FUNCTION"), "shop")
    assert scheduler.environment == {**names, "DUEBELL_HISTORY": "failed"}
    made = synthesised(stack)
    [policy] = [key for key, one in made["Resources"].items() if one["Type"] == "AWS::IAM::ManagedPolicy"]
    [service] = [
        one for key, one in made["Resources"].items() if key.startswith("Service") and "Role" in one["Type"]
    ]
    assert service["Properties"]["ManagedPolicyArns"] == [{"Ref": policy}]


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("name", "made", "names"),
    [("app", "Shop", {"shop", None}), ("deliveries", "Reminders", {"reminders"})],
)
def test_the_apps_of_the_how_to_are_synthesised(
    tmp_path: Path, name: str, made: str, names: set[str | None]
) -> None:
    page = Path(__file__).parents[2] / "docs" / "how-to" / "cdk.md"
    [app] = re.findall(rf"```python\n# {name}.py\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    for file in ("myservice/actions.py", "src/orders.py"):
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).write_text("from duebell import Worker\nworker = Worker()\n")
    (tmp_path / "app.py").write_text(app)
    (tmp_path / "requirements.txt").write_text("")

    # In a process of its own: the CDK's Node.js stays in the folder that it is started in
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "CDK_OUTDIR": str(tmp_path / "out")}
    subprocess.run([sys.executable, "app.py"], cwd=tmp_path, env=environment, capture_output=True, check=True)

    template = json.loads((tmp_path / "out" / f"{made}.template.json").read_text())
    functions = of_type(template, "AWS::Lambda::Function")
    assert {one["Properties"].get("FunctionName") for one in functions} == names


def test_what_cannot_be_right_is_refused(stack: Stack) -> None:
    with pytest.raises(InvalidDeployment, match="3 to 30 letters"):
        Scheduler(stack, "One", name="my_queue", actions="jobs:worker")
    said = {one: f"takes no parameter {one}" for one in ("Memory", "CodeKey", "Name")}
    for wrong, why in {**said, "Alarms": "Alarms: must be yes or no", "SubnetIds": "go together"}.items():
        with pytest.raises(InvalidDeployment, match=why):
            Scheduler(stack, f"Two{wrong}", actions="jobs:worker", parameters={wrong: "x"})
    with pytest.raises(InvalidDeployment, match="cannot set DUEBELL_TABLE"):
        Scheduler(stack, "Four", actions="jobs:worker", environment={"DUEBELL_TABLE": "other"})
    with pytest.raises(BundleFailed, match="there is no module 'nothing'"):
        Scheduler(stack, "Three", actions="nothing:worker")


def test_each_condition_that_something_is_given_is_known(template: Any) -> None:
    given = {
        name: parameter
        for name, condition in template["Conditions"].items()
        for parameter in IN_TEMPLATE - {*LISTS.values()}
        if json.dumps(condition)
        in (
            json.dumps({"Fn::Not": [{"Fn::Equals": [{"Ref": parameter}, ""]}]}),
            json.dumps({"Fn::Not": [{"Fn::Equals": [{"Fn::Select": [0, {"Ref": parameter}]}, ""]}]}),
        )
    }
    assert given == cdk.GIVEN


def test_a_worker_that_starts_from_a_snapshot_is_another_version_with_each_change(tmp_path: Path) -> None:
    def key(number: int, **parameters: str | int) -> str:
        stack = Stack(App(outdir=str(tmp_path / f"cdk.out-{number}")), "Shop")
        topic = Topic(stack, "Oncall")  # a value that CloudFormation makes is named otherwise each time
        given = {"SnapStart": "yes", "AlarmTopicArn": topic.topic_arn, **parameters}
        scheduler = Scheduler(stack, "Tasks", actions="jobs:worker", python="3.13", parameters=given)
        assert scheduler.environment["DUEBELL_FUNCTION"] == "duebell:live"
        [version] = of_type(synthesised(stack), "AWS::Lambda::Version")
        return str(version["Properties"]["Description"])

    first = key(1)
    assert re.fullmatch("[0-9a-f]{32}", first)
    assert key(2) == first
    assert key(3, MemorySize=1024) != first
    Path("prices.py").write_text("VAT = 19\n")
    assert key(4) != first
