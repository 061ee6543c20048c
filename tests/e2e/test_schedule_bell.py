"""A schedule of EventBridge Scheduler as the bell: it rings, and a live queue changes to it and back.

MiniStack fires schedules as it fires rules: a sweep every ten seconds.
"""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from duebell import Editor, Status
from duebell_infra.errors import InvalidDeployment
from duebell_shared.bell.bell import BellKind
from tests.e2e.deployer import LATER, Deployer
from tests.e2e.support import wait_for
from tests.e2e.test_ringing import SOON
from tests.support import SetFor

pytestmark = pytest.mark.e2e


def schedule(deployer: Deployer) -> dict[str, Any]:
    found: dict[str, Any] = deployer.session.client("scheduler").get_schedule(Name=deployer.name)
    return found


def test_a_live_queue_changes_its_bell(deployer: Deployer) -> None:
    # Given a queue whose rule is armed
    by_rule = deployer.deploy()
    by_rule.add("succeed", due=LATER, id="later")
    # When it is deployed with a schedule
    with pytest.raises(InvalidDeployment, match="OtherBell: cannot be no while Bell changes"):
        deployer.deploy(Bell="schedule", OtherBell="no")
    by_schedule = deployer.deploy(Bell="schedule")
    # Then both are armed
    assert schedule(deployer)["ScheduleExpression"] == deployer.rule == SetFor(LATER)
    assert any("remove it with --parameter OtherBell=no" in line for line in deployer.said)
    # And an editor that still sets the rule is heard
    by_rule.add("succeed", due=SOON, id="soon")
    assert deployer.rule != SetFor(LATER)
    assert schedule(deployer)["ScheduleExpression"] == SetFor(LATER)
    wait_for(lambda: by_rule.get("soon").status is Status.DONE)
    # When the rule is removed
    deployer.deploy(OtherBell="no")
    with pytest.raises(ClientError, match="ResourceNotFound"):
        assert deployer.rule
    # Then the schedule is armed
    assert schedule(deployer)["ScheduleExpression"] == SetFor(LATER)
    assert by_schedule.status().healthy
    assert by_schedule.status().bell is BellKind.SCHEDULE
    # And it wakes the worker alone, which sets it for the next, with all else as it was
    before = schedule(deployer)
    by_schedule.add("succeed", due=SOON, id="alone")
    wait_for(lambda: by_schedule.get("alone").status is Status.DONE)
    wait_for(lambda: schedule(deployer)["ScheduleExpression"] == SetFor(LATER))
    for kept in ("Target", "Description", "State", "FlexibleTimeWindow"):
        assert schedule(deployer)[kept] == before[kept], kept
    # And CloudFormation leaves it alone
    deployer.deploy(MemorySize="1024")
    assert schedule(deployer)["ScheduleExpression"] == SetFor(LATER)
    # And back
    deployer.deploy(Bell="rule")
    assert schedule(deployer)["ScheduleExpression"] == deployer.rule == SetFor(LATER)
    assert Editor(by_rule._backend.settings, session=deployer.session).status().healthy
