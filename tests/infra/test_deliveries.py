"""Deliveries of a deployment: how they are given, what the template gets, and what the worker may send."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
import typer
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

from duebell import Editor, Status, Worker
from duebell_infra.deploy.deliveries import CONDITIONS, LISTS, as_parameter, permitted
from duebell_infra.deploy.options import actions_given, deliveries_given, pairs
from duebell_shared.backend import Backend
from duebell_shared.deliveries.delivery import Delivery, delivery_of
from duebell_shared.errors import InvalidSettings
from duebell_shared.settings import Settings
from tests.infra.policies import ACCOUNT, Guarded, granted, statements_of, worker_document
from tests.serving import listening
from tests.support import REGION, Clock, create_function

pytestmark = pytest.mark.moto

HERE = "eu-central-1:123456789012"
QUEUE = f"arn:aws:sqs:{HERE}:reminders"
BUS = f"arn:aws:events:{HERE}:event-bus/main"
MACHINE = f"arn:aws:states:{HERE}:stateMachine:dunning"
SECRET = f"arn:aws:secretsmanager:{HERE}:secret:signing-AbCdEf"
PARAMETER = f"arn:aws:ssm:{HERE}:parameter/signing"

TASK_DEFINITION = f"arn:aws:ecs:{HERE}:task-definition/report"
ROLE = "arn:aws:iam::123456789012:role/report"
RUN = {"cluster": "main", "container": "app", "subnets": ["subnet-1"], "roles": [ROLE]}


def test_each_list_of_arns_is_for_its_condition_and_editors_may_deliver_nothing(template: Any) -> None:
    for condition, parameter in CONDITIONS.items():
        assert template["Conditions"][condition] == {
            "Fn::Not": [{"Fn::Equals": [{"Fn::Select": [0, {"Ref": parameter}]}, ""]}]
        }
    editor = template["Resources"]["EditorPolicy"]["Properties"]["PolicyDocument"]
    given = {condition: {parameter: [QUEUE]} for condition, parameter in CONDITIONS.items()}
    assert statements_of(editor, given) == statements_of(editor)


def test_what_is_given_at_a_deployment_is_one_delivery_each() -> None:
    given = deliveries_given([f"remind={QUEUE}", "tell=https://example.com/hook?form=a&b=c"])
    assert given == {"remind": {"to": QUEUE}, "tell": {"to": "https://example.com/hook?form=a&b=c"}}
    assert deliveries_given(["none"]) == {}
    assert deliveries_given([]) is None


def test_many_are_given_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "deliveries.json"
    declared = {"remind": {"to": QUEUE, "backoff": {"first": 5}}}
    file.write_text(json.dumps(declared))
    assert deliveries_given([f"@{file}", f"end={BUS}"]) == {**declared, "end": {"to": BUS}}
    file.write_text('{"remind": {"to": 1}}')
    with pytest.raises(InvalidSettings, match=r"deliveries.json.*remind"):
        deliveries_given([f"@{file}"])


@pytest.mark.parametrize(
    ("deliver", "says"),
    [
        (["remind"], "--deliver 'remind' is not NAME=TARGET, such as remind=arn:aws:sqs:…$"),
        ([f"={QUEUE}"], "is not NAME=TARGET"),
        (["remind="], "is not NAME=TARGET"),
        ([f"remind={QUEUE}", f"remind={BUS}"], "^--deliver remind is given twice$"),
        (["@nowhere.json"], "--deliver @nowhere.json: .*No such file"),
    ],
)
def test_what_cannot_be_read_is_wrong_usage(deliver: list[str], says: str) -> None:
    with pytest.raises(typer.BadParameter, match=says):
        deliveries_given(deliver)


def test_other_options_give_a_value_to_each_name_once() -> None:
    assert pairs("--env", ["A=1", "B=b=c", "C="]) == {"A": "1", "B": "b=c", "C": ""}
    wrong = {"A": "'A' is not NAME=VALUE", "=1": "'=1' is not NAME=VALUE", "B=2": "B is given twice"}
    for given, says in wrong.items():
        with pytest.raises(typer.BadParameter, match=f"^--env {says}$"):
            pairs("--env", ["B=1", given])
    assert [actions_given(one) for one in ("none", "a:b", "", None)] == ["", "a:b", "", None]


def test_a_delivery_that_cannot_be_right_is_refused() -> None:
    with pytest.raises(InvalidSettings, match=r"deliver: the delivery 'remind': to: .*is no ARN"):
        as_parameter({"remind": {"to": "reminders"}})


def test_the_role_may_do_what_the_deliveries_need_and_no_more() -> None:
    deliveries = [
        Delivery(name="remind", to=QUEUE),
        Delivery(name="again", to=QUEUE),
        Delivery(name="start", to=f"{MACHINE}:live"),
        delivery_of({"name": "report", "to": TASK_DEFINITION, "run": RUN}),
        Delivery(name="tell", to="https://example.com/hook", secret=SECRET),
        Delivery(name="told", to="https://example.com/hook", secret=PARAMETER),
    ]
    lists = permitted(deliveries, before={})
    assert set(lists) == set(LISTS.values())
    assert {parameter: text for parameter, text in lists.items() if text} == {
        "DeliveryQueues": QUEUE,
        "DeliveryStateMachines": MACHINE,
        "DeliveryTaskDefinitions": f"{TASK_DEFINITION}:*",
        "DeliveryRoles": ROLE,
        "DeliverySecrets": SECRET,
        "DeliveryParameters": PARAMETER,
    }
    # Earlier permissions stay if nobody knows which deliveries the code declares
    assert (
        permitted(deliveries, before={"DeliveryQueues": f"{QUEUE}2"})["DeliveryQueues"] == f"{QUEUE},{QUEUE}2"
    )


def made(session: boto3.Session) -> dict[str, dict[str, Any]]:
    """Deliveries to targets of every kind, which are there."""
    function = create_function(session, "made")
    role = session.client("iam").get_role(RoleName="made")["Role"]["Arn"]
    sqs: Any = session.client("sqs")
    sqs.create_queue(QueueName="made")
    sqs.create_queue(QueueName="made.fifo", Attributes={"FifoQueue": "true"})
    machine = session.client("stepfunctions").create_state_machine(
        name="made",
        definition=json.dumps({"StartAt": "End", "States": {"End": {"Type": "Succeed"}}}),
        roleArn=role,
    )
    secret = session.client("secretsmanager").create_secret(Name="signing", SecretString="key")
    session.client("ssm").put_parameter(Name="signing", Value="key", Type="SecureString")
    ecs: Any = session.client("ecs")
    app = {"name": "app", "image": "app", "memory": 128}
    task = ecs.register_task_definition(family="made", containerDefinitions=[app])["taskDefinition"]
    run = {"cluster": "made", "container": "app", "launch_type": "EC2", "roles": [role]}
    return {
        "task": {"to": task["taskDefinitionArn"], "run": run},
        "queue": {"to": f"arn:aws:sqs:{REGION}:{ACCOUNT}:made"},
        "fifo": {"to": f"arn:aws:sqs:{REGION}:{ACCOUNT}:made.fifo"},
        "topic": {"to": session.client("sns").create_topic(Name="made")["TopicArn"]},
        "bus": {"to": session.client("events").create_event_bus(Name="made")["EventBusArn"]},
        "function": {"to": function},
        "machine": {"to": machine["stateMachineArn"]},
        "by-secret": {"secret": secret["ARN"]},
        "by-parameter": {"secret": f"arn:aws:ssm:{REGION}:{ACCOUNT}:parameter/signing"},
    }


@pytest.fixture
def address() -> Iterator[str]:
    """An address that takes whatever is sent to it."""
    with listening() as (address, _):
        yield address


def test_a_worker_may_deliver_where_it_shall_and_nowhere_else(
    session: boto3.Session, editor: Editor, template: Any, address: str, clock: Clock
) -> None:
    role = worker_document(template["Resources"])
    deliveries = {name: {"to": address, **fields} for name, fields in made(session).items()}

    def invoked(**_: object) -> Any:
        return AWSResponse("", 202, HTTPHeaders(), None), {"StatusCode": 202}  # moto would want machines

    def run(guarded: Guarded) -> dict[str, Status]:
        for call in ("lambda.Invoke", "ecs.RunTask"):
            guarded.session.events.register(f"before-call.{call}", invoked)
        backend = Backend.connect(Settings(), guarded.session, clock=clock, sleep=clock.sleep)
        worker = Worker(backend=backend)
        for name, fields in deliveries.items():
            worker.deliver(name, attempts=1, **fields)
            editor.add(name, due=timedelta(0), id=name, if_exists="replace")
        clock.advance(timedelta(minutes=1))
        worker.run()
        return {name: editor.get(name).status for name in deliveries}

    # Given the statements for these deliveries, they are all used, and they suffice
    worker = Worker()
    for name, fields in deliveries.items():
        worker.deliver(name, **fields)
    lists = permitted(worker.deliveries, before={})
    given = {name: {one: lists[one].split(",")} for name, one in CONDITIONS.items()}
    allowed = statements_of(role, given)
    guarded = Guarded(allowed)
    assert set(run(guarded).values()) == {Status.DONE}
    added = granted(allowed) - granted(statements_of(role))
    used = {one for one in added if one[0] != "iam:PassRole"}  # no call, but a part of RunTask
    assert used <= guarded.made
    assert len(used) == len(deliveries)
    del given["PassesRoles"]
    # And without one of them, its tasks fail, and say what is missing, and the others are done
    for action, parameter in [*LISTS.items()][:2]:
        without = {one: lists for one, lists in given.items() if parameter not in lists}
        less = Guarded(statements_of(role, without))
        [missing] = {name for name, status in run(less).items() if status is not Status.DONE} - {"fifo"}
        failure = editor.get(missing).failure
        assert failure
        assert action in failure.message
        assert "arn:aws:" in failure.message
