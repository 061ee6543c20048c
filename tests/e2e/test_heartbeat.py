"""The heartbeat on the embedded stack: its rule exists when asked for, fires, and the bell is set right."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from duebell_shared.bell.expression import SENTINEL
from tests.e2e.deployer import LATER, Deployer
from tests.e2e.support import wait_for
from tests.support import SetFor

pytestmark = pytest.mark.e2e


def test_a_heartbeat_repairs_a_rule_that_was_parked_by_hand(deployer: Deployer) -> None:
    events: Any = deployer.session.client("events")
    # Given a stack without a heartbeat, which has no second rule
    deployer.deploy()
    with pytest.raises(ClientError, match="ResourceNotFound"):
        events.describe_rule(Name=f"{deployer.name}-heartbeat")
    # And one with it
    editor = deployer.deploy(Heartbeat="hourly")
    rule = events.describe_rule(Name=f"{deployer.name}-heartbeat")
    assert (rule["ScheduleExpression"], rule["State"]) == ("rate(1 hour)", "ENABLED")
    editor.add("succeed", due=LATER, id="later")
    assert deployer.rule == SetFor(LATER)
    # When somebody parks the rule, and the heartbeat comes: each minute here, as nobody waits an hour
    events.put_rule(Name=deployer.name, ScheduleExpression=SENTINEL, State="ENABLED")
    events.put_rule(Name=f"{deployer.name}-heartbeat", ScheduleExpression="rate(1 minute)", State="ENABLED")
    # Then the worker sets it right
    wait_for(lambda: deployer.rule == SetFor(LATER))
    # And without the heartbeat the second rule goes
    deployer.deploy(Heartbeat="off")
    with pytest.raises(ClientError, match="ResourceNotFound"):
        events.describe_rule(Name=f"{deployer.name}-heartbeat")
