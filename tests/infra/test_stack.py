"""A stack of CloudFormation, by AWS's answers one after the other: its calls, results, words and refusals."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.stub import ANY, Stubber

from duebell_infra.deploy import stack as module
from duebell_infra.deploy.stack import Stack
from duebell_infra.errors import DeployFailed
from tests.support import REGION

ID = f"arn:aws:cloudformation:{REGION}:123456789012:stack/duebell/1"
CHANGE = f"arn:aws:cloudformation:{REGION}:123456789012:changeSet/one/1"
#: An operation, its parameters, and its answer; a text is the message of a ValidationError.
Call = tuple[str, dict[str, Any], dict[str, Any] | str]


def looked(status: str | None, name: str = "duebell", **fields: Any) -> Call:
    found = {"StackName": "duebell", "StackId": ID, "CreationTime": 0, "StackStatus": status, **fields}
    missing = f"Stack with id {name} does not exist"
    return "describe_stacks", {"StackName": name}, {"Stacks": [found]} if status else missing


def events(*texts: str, token: str | None = None, more: str | None = None) -> Call:
    """A page of events, the newest first, each `STATUS resource: reason`."""
    page = []
    for text in texts:
        status, what, reason = re.fullmatch(r"(\w+) (\w+)(?:: (.*))?", text).groups()  # type: ignore[union-attr]
        event = {"StackId": ID, "EventId": text, "StackName": "duebell", "Timestamp": 0}
        event |= {"ResourceStatus": status, "LogicalResourceId": what, "ResourceStatusReason": reason or "x"}
        page.append(event)
    asked = {"StackName": ID} | ({"NextToken": token} if token else {})
    return "describe_stack_events", asked, {"StackEvents": page} | ({"NextToken": more} if more else {})


def made(kind: str) -> Call:
    asked: dict[str, Any] = {"StackName": "duebell", "ChangeSetName": ANY, "ChangeSetType": kind}
    asked |= {"TemplateBody": "Resources: {}", "Capabilities": ["CAPABILITY_IAM"]}
    asked |= {"Tags": [{"Key": "duebell", "Value": "duebell"}]}
    asked |= {"Parameters": [{"ParameterKey": "Name", "ParameterValue": "duebell"}]}
    return "create_change_set", asked, {"Id": CHANGE, "StackId": ID}


def change(status: str, reason: str = "") -> Call:
    return "describe_change_set", {"ChangeSetName": CHANGE}, {"Status": status, "StatusReason": reason}


EXECUTED: Call = ("execute_change_set", {"ChangeSetName": CHANGE}, {})
DELETED: Call = ("delete_stack", {"StackName": ID}, {})
NONE, OLD, UPDATED = looked(None), looked("UPDATE_COMPLETE"), looked("UPDATE_COMPLETE", ID)
GONE: Call = ("describe_stack_events", {"StackName": ID}, f"Stack [{ID}] does not exist")
#: A change set of an old stack, made and ready.
MADE = [OLD, OLD, made("UPDATE")]
READY = [*MADE, change("CREATE_COMPLETE"), events(), EXECUTED]
CREATED = [made("CREATE"), change("CREATE_COMPLETE"), GONE, EXECUTED, looked("CREATE_COMPLETE", ID), events()]


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def over(monkeypatch: pytest.MonkeyPatch, said: list[str]) -> Iterator[Callable[[list[Call]], Stack]]:
    """The stack to which AWS answers so, and to no other calls; between two looks are 15 minutes."""
    client = boto3.client("cloudformation", region_name=REGION)
    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=lambda _: now.append(now.pop() + 15 * 60))
    monkeypatch.setattr(module, "time", clock)
    stubber = Stubber(client)

    def answered(calls: list[Call]) -> Stack:
        for operation, asked, answer in calls:
            if isinstance(answer, str):
                stubber.add_client_error(operation, "ValidationError", answer, expected_params=asked)
            else:
                stubber.add_response(operation, answer, asked)
        return Stack(client, "duebell", progress=said.append)

    with stubber:
        yield answered
    stubber.assert_no_pending_responses()


def applied(stack: Stack) -> str:
    return stack.apply("Resources: {}", {"Name": "duebell"}, tags={"duebell": "duebell"})


def test_each_step_of_a_change_is_told_once_in_its_order(over: Any, said: list[str]) -> None:
    old = ["CREATE_COMPLETE Table", "CREATE_IN_PROGRESS Table"]
    made_ready = [made("UPDATE"), change("CREATE_PENDING"), change("CREATE_COMPLETE")]
    first = [looked("UPDATE_IN_PROGRESS", ID), events("UPDATE_IN_PROGRESS Worker", *old, more="unread")]
    last = events("UPDATE_COMPLETE duebell", "DELETE_FAILED Old: in use", more="2")
    rest = events("UPDATE_COMPLETE Worker", "UPDATE_IN_PROGRESS Worker", token="2", more="unread")
    stack = over([OLD, OLD, *made_ready, events(*old), EXECUTED, *first, UPDATED, last, rest])
    assert applied(stack) == "updated"
    assert said == [
        "  UPDATE_IN_PROGRESS   Worker",
        "  UPDATE_COMPLETE      Worker",
        "  DELETE_FAILED        Old: in use",
        "  UPDATE_COMPLETE      duebell",
    ]


@pytest.mark.parametrize("before", [NONE, looked("REVIEW_IN_PROGRESS")], ids=["none", "only a change set"])
def test_a_stack_that_is_not_there_is_created(over: Any, before: Call) -> None:
    assert applied(over([before, before, *CREATED])) == "created"


@pytest.mark.parametrize("status", ["CREATE_FAILED", "DELETE_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED"])
def test_the_remains_of_a_failure_are_deleted_first(over: Any, said: list[str], status: str) -> None:
    before = looked(status)
    deleted = [before, before, events(), DELETED, looked("DELETE_COMPLETE", ID), GONE]
    assert applied(over([*deleted, NONE, *CREATED])) == "created"
    assert said == [f"an earlier try left the stack duebell in {status}: deleting it first"]


@pytest.mark.parametrize("why", ["The submitted information didn't contain changes.", "No updates are to be"])
def test_nothing_to_change_leaves_no_change_set(over: Any, why: str) -> None:
    deleted: Call = ("delete_change_set", {"ChangeSetName": CHANGE}, {})
    assert applied(over([*MADE, change("FAILED", why), deleted])) == "nothing to change"


FAILED = events("A_FAILED Rule: cancelled", "A_FAILED Worker: full", "A_FAILED Role: none", "A_COMPLETE B")
UNDONE = looked("UNDONE", ID)
RUNNING = [looked("UPDATE_IN_PROGRESS", ID), events()]


@pytest.mark.parametrize(
    ("calls", "says"),
    [
        ([looked("A_IN_PROGRESS")], " is being changed already (A_IN_PROGRESS): wait till it is done"),
        ([*MADE, change("FAILED", "a cycle")], ": a cycle"),
        ([*MADE, *[change("CREATE_PENDING")] * 2], ": the change set did not become ready"),
        ([*READY, UNDONE, FAILED], " is in UNDONE: Role: none; Worker: full"),
        ([*READY, looked("UPDATE_FAILED", ID), events()], " is in UPDATE_FAILED: no reason given"),
        ([*READY, *RUNNING, *RUNNING], " was not done after 30 minutes; look in AWS"),
    ],
)
def test_a_change_that_fails_gives_the_reasons(over: Any, calls: list[Call], says: str) -> None:
    with pytest.raises(DeployFailed) as refused:
        applied(over(calls))
    assert str(refused.value) == f"the stack duebell{says}"


def test_deleting_waits_until_it_is_gone_and_says_if_it_was_there(over: Any) -> None:
    assert over([NONE]).delete() is False
    steps = [looked("DELETE_IN_PROGRESS", ID), events("DELETE_IN_PROGRESS Rule")]
    assert over([OLD, events(), DELETED, *steps, looked(None, ID), GONE]).delete() is True
    failed = [looked("DELETE_FAILED", ID), events("DELETE_FAILED Role: in use")]
    with pytest.raises(DeployFailed, match=r"^the stack duebell is in DELETE_FAILED: Role: in use$"):
        over([OLD, events(), DELETED, *failed]).delete()


def test_parameters_and_outputs_are_those_of_the_stack(over: Any) -> None:
    parameters = [{"ParameterKey": "Name", "ParameterValue": "duebell"}]
    outputs = [{"OutputKey": "Arn", "OutputValue": "arn"}]
    fields: dict[str, Any] = {"Parameters": parameters, "Outputs": outputs}
    failed = looked("ROLLBACK_COMPLETE", **fields)
    assert over([looked("UPDATE_COMPLETE", **fields)]).parameters() == {"Name": "duebell"}
    assert [over([one]).parameters() for one in (failed, OLD, NONE)] == [{}, {}, {}]
    assert [over([one]).outputs() for one in (failed, OLD, NONE)] == [{"Arn": "arn"}, {}, {}]


def test_another_error_of_aws_is_told_with_the_stack(over: Any) -> None:
    with pytest.raises(DeployFailed, match=r"^the stack duebell: .*ValidationError.*: bad name"):
        over([("describe_stacks", {"StackName": "duebell"}, "bad name")]).outputs()
    with pytest.raises(DeployFailed, match=r"^the stack duebell: .*DescribeStackEvents operation: bad id"):
        over([OLD, ("describe_stack_events", {"StackName": ID}, "bad id")]).delete()


def test_a_missing_template_is_told_with_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "__file__", str(tmp_path / "installed" / "deploy" / "stack.py"))
    says = f"template.yaml is missing from {tmp_path / 'installed'}: install duebell again"
    with pytest.raises(DeployFailed, match=f"^{re.escape(says)}$"):
        module.template_file()
