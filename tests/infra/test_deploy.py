"""A deployment, on moto or with a stubbed stack: what it gives, says, arms and refuses, and how it fails."""

import json
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import boto3
import pytest

from duebell import Editor
from duebell_infra.bundle.bundle import Bundle
from duebell_infra.bundle.target import Target
from duebell_infra.deploy import deploy as module
from duebell_infra.deploy.artifacts import Artifacts
from duebell_infra.deploy.deploy import Deployment, deploy, destroy
from duebell_infra.errors import DeployFailed, InvalidDeployment, WorkerFailed
from duebell_shared.bell.armer import Armer
from duebell_shared.bell.expression import SENTINEL
from duebell_shared.deliveries.delivery import Delivery
from duebell_shared.errors import AwsUnavailable
from tests.support import create_function

pytestmark = pytest.mark.moto

LATER = timedelta(days=300)


class FakeStack:
    """The stack as it was deployed with `before`; an update does `change`, with the parameters if it may."""

    def __init__(self, before: Mapping[str, str], change: Callable[..., object]) -> None:
        self.name = "duebell"
        self._before = before
        self._change = change

    def parameters(self) -> Mapping[str, str]:
        return self._before

    def apply(self, _: str, parameters: Mapping[str, str], **__: object) -> str:
        takes_them = self._change.__name__ == "update"
        self._change(parameters) if takes_them else self._change()
        return "updated"


@pytest.fixture
def deployed(session: boto3.Session, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Deploy, with CloudFormation, the bundle and its bucket left out; what was said."""

    def deployed(
        change: Callable[..., object],
        *,
        before: Mapping[str, str],
        called: Callable[..., None] = lambda *_, **__: None,
        actions: str | None = "",
        in_code: tuple[Delivery, ...] | None = (),
        **given: Any,
    ) -> list[str]:
        bundle = Bundle(data=b"zip", actions="", target=Target(), files=1, unpacked=3, deliveries=in_code)
        monkeypatch.setattr(module, "build", lambda *_, **__: bundle)
        monkeypatch.setattr(Artifacts, "upload", lambda *_, **__: "bundles/duebell/1.zip")
        monkeypatch.setattr(module, "Stack", lambda *_, **__: FakeStack(before, change))
        monkeypatch.setattr(module, "call_once", called)
        said: list[str] = []
        deploy(session, Deployment(actions=actions, **given), say=said.append)
        return said

    return deployed


UPDATE: Mapping[str, str] = {"ExistingTable": "no", "CodeKey": "before"}


@pytest.fixture
def parked(session: boto3.Session, editor: Editor) -> Callable[[], str]:
    """The rule was armed for a task, and CloudFormation has written it anew; its expression now."""
    editor.add("act", due=LATER)
    events = session.client("events")
    events.put_rule(Name="duebell", ScheduleExpression=SENTINEL)
    return lambda: events.describe_rule(Name="duebell")["ScheduleExpression"]


QUEUE = "arn:aws:sqs:eu-central-1:123456789012:reminders"


def test_deliveries_and_what_follows_are_parameters_that_nobody_gives(deployed: Any) -> None:
    applied: dict[str, str] = {}
    given = {"before": UPDATE, "deliver": {"remind": {"to": QUEUE}}, "parameters": {"Timeout": "100"}}
    said = deployed(applied.update, **given)
    assert f"delivery: remind to {QUEUE}" in said
    assert (applied["DeliveryQueues"], applied["IntakeVisibility"]) == (QUEUE, "601")
    assert json.loads(applied["Deliveries"]) == {"remind": {"to": QUEUE}}
    set_by = {"Deliveries": "--deliver", "Worker": "--actions", "Runtime": "--python"}
    for name in (*set_by, "DeliveryQueues", "VersionKey", "IntakeVisibility", "ExistingTable"):
        how = f"is set by {set_by[name]}" if name in set_by else "follows from others"
        with pytest.raises(InvalidDeployment, match=f"{name} {how}: leave it out$"):
            deployed(lambda: None, before=UPDATE, parameters={name: "x"})


def test_a_first_deployment_needs_actions_or_a_delivery(deployed: Any) -> None:
    with pytest.raises(InvalidDeployment, match=r"missing: name the .*--deliver NAME=ARN`\)$") as refused:
        deployed(lambda: None, before={}, actions=None)
    assert refused.value.field == "actions"
    deployed(lambda: None, before={}, actions=None, deliver={"remind": {"to": QUEUE}})


def test_what_code_delivers_to_stays_permitted_while_it_is_not_known(deployed: Any) -> None:
    before = {**UPDATE, "DeliveryTopics": "arn:aws:sns:eu-central-1:123456789012:due"}
    applied: dict[str, str] = {}
    said = deployed(applied.update, before=before, in_code=None)
    assert applied["DeliveryTopics"] == before["DeliveryTopics"]
    kept = "as it was not imported, so DeliveryTopics stay permitted"
    assert f"deliveries in code are not known, {kept}" in said
    deployed(applied.update, before=before, in_code=())
    assert applied["DeliveryTopics"] == ""


def failing() -> None:
    raise DeployFailed("UPDATE_ROLLBACK_COMPLETE")


def unchanged() -> None:
    """CloudFormation sees no difference."""


@pytest.mark.parametrize(
    ("before", "change", "is_armed"),
    [(UPDATE, unchanged, True), (UPDATE, failing, True), ({}, failing, False)],
    ids=["an update", "one that fails", "a first one that fails"],
)
def test_an_update_arms_the_rule_also_when_it_fails(
    deployed: Any, parked: Callable[[], str], before: Any, change: Callable[[], None], is_armed: bool
) -> None:
    fails = pytest.raises(DeployFailed, match="UPDATE_ROLLBACK_COMPLETE")
    with fails if change is failing else nullcontext():
        assert "stack duebell: updated" in deployed(change, before=before)
    assert (parked() != SENTINEL) is is_armed


@pytest.mark.parametrize(("before", "given"), [(UPDATE, "no"), ({}, "yes")])
def test_a_table_that_is_there_stays_in_the_stack_that_made_it(
    deployed: Any, editor: Editor, before: Mapping[str, str], given: str
) -> None:
    editor.add("act", due=timedelta(hours=1))
    applied: dict[str, str] = {}
    deployed(applied.update, before=before, actions="jobs:worker")
    assert applied["ExistingTable"] == given


def test_a_failed_update_is_raised_even_if_the_rule_cannot_be_armed(
    deployed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unavailable(_: Armer) -> None:
        raise AwsUnavailable("no answer")

    monkeypatch.setattr(Armer, "verify", unavailable)
    with pytest.raises(DeployFailed, match="UPDATE_ROLLBACK_COMPLETE"):
        deployed(failing, before=UPDATE)


def test_a_worker_that_cannot_start_raises_and_the_rule_is_armed(
    deployed: Any, parked: Callable[[], str]
) -> None:
    def called(_: boto3.Session, function: str, **__: object) -> None:
        assert parked() != SENTINEL
        raise WorkerFailed(function)

    with pytest.raises(WorkerFailed, match="duebell"):
        deployed(lambda: None, before=UPDATE, called=called)


def test_with_snap_start_the_version_is_named_and_called(deployed: Any) -> None:
    given: dict[str, str] = {}
    called: list[str] = []

    def update(parameters: Mapping[str, str]) -> None:
        given.update(parameters)

    def call(_: object, function: str, **__: object) -> None:
        called.append(function)

    deployed(update, before=UPDATE, called=call, python="3.13", parameters={"SnapStart": "yes"})
    assert called == ["duebell:live"]
    first = given["VersionKey"]
    # Then the same again is the same version, and another setting another one
    deployed(update, before={**UPDATE, **given}, called=call)
    assert given["VersionKey"] == first
    deployed(update, before={**UPDATE, **given}, called=call, parameters={"MemorySize": "1024"})
    assert given["VersionKey"] not in {first, ""}
    # And without it there is none
    deployed(update, before={**UPDATE, **given}, called=call, parameters={"SnapStart": "no"})
    assert (given["VersionKey"], called[-1]) == ("", "duebell")


@pytest.mark.usefixtures("editor")
def test_a_deleted_stack_leaves_its_table(session: boto3.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    said, there = list[str](), iter([True, False, False])
    monkeypatch.setattr(module, "Stack", lambda *_, **__: SimpleNamespace(delete=lambda: next(there)))
    for delete_table in (False, True, True):
        destroy(session, "duebell", delete_table=delete_table, say=said.append)
    kept = "table duebell: kept, with every task in it; the next deployment takes it up again, and `duebell "
    kept, none = f"{kept}destroy --name duebell --delete-table` deletes it", "stack duebell: there is none"
    assert said[:3] == ["stack duebell: deleted", kept, none]
    assert said[3:] == ["table duebell: deleted", none, "table duebell: there is none"]


@pytest.fixture
def function(session: boto3.Session) -> str:
    """The worker's function is there; its ARN."""
    return create_function(session)


def test_a_deleted_rule_is_put_back_with_its_target_and_permission(
    deployed: Any, editor: Editor, session: boto3.Session, function: str
) -> None:
    # Given an armed rule that somebody deletes
    editor.add("act", due=LATER)
    events = session.client("events")
    targets = events.list_targets_by_rule(Rule="duebell")["Targets"]
    events.remove_targets(Rule="duebell", Ids=[one["Id"] for one in targets])
    events.delete_rule(Name="duebell")

    said = deployed(unchanged, before=UPDATE)

    assert [line for line in said if "put back" in line] == [
        "rule duebell: put back the rule, which was missing",
        "rule duebell: put back its target, which was missing",
        "rule duebell: put back its permission to invoke the worker, which was missing",
    ]
    assert events.describe_rule(Name="duebell")["ScheduleExpression"] != SENTINEL
    assert [one["Arn"] for one in events.list_targets_by_rule(Rule="duebell")["Targets"]] == [function]
    # And once it is back, nothing more is said of it
    assert not [line for line in deployed(unchanged, before=UPDATE) if "put back" in line]
