"""Deliveries of a deployment: how they are given, what the template gets, and what the role may do."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer

from duebell_infra.deploy.deliveries import LISTS, merged, permitted
from duebell_infra.deploy.options import deliveries_given
from duebell_infra.errors import InvalidDeployment
from duebell_shared.deliveries.delivery import Delivery, deliveries_in
from duebell_shared.errors import InvalidSettings
from tests.infra.policies import statements_of

HERE = "eu-central-1:123456789012"
QUEUE = f"arn:aws:sqs:{HERE}:reminders"
BUS = f"arn:aws:events:{HERE}:event-bus/main"
MACHINE = f"arn:aws:states:{HERE}:stateMachine:dunning"
SECRET = f"arn:aws:secretsmanager:{HERE}:secret:signing-AbCdEf"
PARAMETER = f"arn:aws:ssm:{HERE}:parameter/signing"

TASK_DEFINITION = f"arn:aws:ecs:{HERE}:task-definition/report"
ROLE = "arn:aws:iam::123456789012:role/report"
RUN = {"cluster": "main", "container": "app", "subnets": ["subnet-1"], "roles": [ROLE]}

#: What each list is for, and an ARN for it.
PERMISSIONS = {
    "SendsToQueues": ("DeliveryQueues", "sqs:SendMessage", QUEUE),
    "SendsToTopics": ("DeliveryTopics", "sns:Publish", f"arn:aws:sns:{HERE}:due"),
    "SendsToBuses": ("DeliveryBuses", "events:PutEvents", BUS),
    "SendsToFunctions": (
        "DeliveryFunctions",
        "lambda:InvokeFunction",
        f"arn:aws:lambda:{HERE}:function:remind",
    ),
    "SendsToStateMachines": ("DeliveryStateMachines", "states:StartExecution", MACHINE),
    "SendsToTaskDefinitions": ("DeliveryTaskDefinitions", "ecs:RunTask", TASK_DEFINITION),
    "PassesRoles": ("DeliveryRoles", "iam:PassRole", ROLE),
    "ReadsSecrets": ("DeliverySecrets", "secretsmanager:GetSecretValue", SECRET),
    "ReadsParameters": ("DeliveryParameters", "ssm:GetParameter", PARAMETER),
}


def test_each_list_of_arns_is_for_its_condition(template: Any) -> None:
    for condition, (parameter, action, _) in PERMISSIONS.items():
        assert LISTS[action] == parameter
        assert template["Conditions"][condition] == {
            "Fn::Not": [{"Fn::Equals": [{"Fn::Select": [0, {"Ref": parameter}]}, ""]}]
        }


def test_editors_may_deliver_nothing(template: Any) -> None:
    editor = template["Resources"]["EditorPolicy"]["Properties"]["PolicyDocument"]
    given = {condition: {parameter: [arn]} for condition, (parameter, _, arn) in PERMISSIONS.items()}
    assert statements_of(editor, given) == statements_of(editor)


def test_what_is_given_at_a_deployment_is_one_delivery_each() -> None:
    given = deliveries_given(
        [f"remind={QUEUE}", f"end={BUS} form=payload attempts=3 detail-type='Trial ended'"], ["old"]
    )
    assert given == {
        "remind": {"to": QUEUE},
        "end": {"to": BUS, "form": "payload", "attempts": 3, "detail_type": "Trial ended"},
        "old": None,
    }
    # And an address may have whatever stands in addresses
    [(name, fields)] = deliveries_given(["tell=https://example.com/hook?form=a&b=c"], ()).items()
    assert (name, fields) == ("tell", {"to": "https://example.com/hook?form=a&b=c"})


def test_many_are_given_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "deliveries.json"
    declared = {"remind": {"to": QUEUE, "backoff": {"first": 5}}}
    file.write_text(json.dumps(declared))
    assert deliveries_given([f"@{file}", f"end={BUS}"], ()) == {**declared, "end": {"to": BUS}}
    file.write_text('{"remind": {"to": 1}}')
    with pytest.raises(InvalidSettings, match=r"deliveries.json.*remind"):
        deliveries_given([f"@{file}"], ())


@pytest.mark.parametrize(
    ("deliver", "no_deliver", "says"),
    [
        (["remind"], [], "'remind' is not NAME=TARGET, such as remind=arn:aws:sqs:…"),
        ([f"={QUEUE}"], [], "is not NAME=TARGET"),
        ([f"remind={QUEUE} envelope"], [], "--deliver remind: 'envelope' is not FIELD=VALUE"),
        ([f"remind={QUEUE} form=payload form=envelope"], [], "each field once"),
        ([f"remind={QUEUE} 'form=payload"], [], "No closing quotation"),
        ([f"remind={QUEUE}", f"remind={BUS}"], [], "--deliver remind is given twice"),
        ([f"remind={QUEUE}"], ["remind"], "--deliver remind and --no-deliver remind: give one of them"),
        (["@nowhere.json"], [], "--deliver @nowhere.json: .*No such file"),
    ],
)
def test_what_cannot_be_read_is_wrong_usage(deliver: list[str], no_deliver: list[str], says: str) -> None:
    with pytest.raises(typer.BadParameter, match=says):
        deliveries_given(deliver, no_deliver)


def test_what_was_deployed_before_stays_until_it_is_taken_away() -> None:
    first = merged("", {"remind": {"to": QUEUE}})
    second = merged(first, {"end": {"to": BUS}})
    assert set(deliveries_in(second)) == {"remind", "end"}
    assert merged(second, {}) == second
    assert merged(second, {"end": None}) == first
    assert deliveries_in(merged(second, {"end": {"to": MACHINE}}))["end"].to == MACHINE
    with pytest.raises(
        InvalidDeployment, match="no delivery 'other' was given at a deployment, but end, remind"
    ):
        merged(second, {"other": None})
    with pytest.raises(InvalidSettings, match=r"deliver: the delivery 'remind': to: .*is no ARN"):
        merged("", {"remind": {"to": "reminders"}})


def test_the_role_may_do_what_the_deliveries_need_and_no_more() -> None:
    deliveries = [
        Delivery(name="remind", to=QUEUE),
        Delivery(name="again", to=QUEUE),
        Delivery(name="start", to=f"{MACHINE}:live"),
        Delivery(name="report", to=TASK_DEFINITION, run=RUN),
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
    # What was permitted before stays where nobody knows what the code declares
    assert (
        permitted(deliveries, before={"DeliveryQueues": f"{QUEUE}2"})["DeliveryQueues"] == f"{QUEUE},{QUEUE}2"
    )
