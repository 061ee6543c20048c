"""The change of a live queue's bell by deployments: what is kept, armed and said, and what is refused."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import boto3
import pytest
from msgspec.structs import replace

from duebell import Editor
from duebell_infra.deploy.bells import arm_this_bell, keep_other_bell, next_step
from duebell_infra.errors import DeployFailed
from duebell_shared.backend import Backend
from duebell_shared.bell.armer import Armer
from duebell_shared.bell.bell import BellKind
from duebell_shared.bell.expression import FAR_SENTINEL, SENTINEL
from duebell_shared.errors import NotArmed
from duebell_shared.settings import Settings
from tests.infra.test_deploy import UPDATE, deployed
from tests.support import Clock, create_schedule

__all__ = ["deployed"]  # the fixture

pytestmark = pytest.mark.moto

LATER = timedelta(days=300)
BOTH = {**UPDATE, "Bell": "schedule", "OtherBell": "yes"}


@pytest.fixture
def schedule(session: boto3.Session) -> Callable[[], str]:
    """The expression of the schedule, which is there."""
    create_schedule(session)
    scheduler = session.client("scheduler")
    return lambda: str(scheduler.get_schedule(Name="duebell")["ScheduleExpression"])


@pytest.fixture
def rule(session: boto3.Session) -> Callable[[], str]:
    events = session.client("events")
    return lambda: events.describe_rule(Name="duebell")["ScheduleExpression"]


def test_a_changed_bell_keeps_the_other_and_both_are_armed(
    deployed: Any, editor: Editor, schedule: Callable[[], str], rule: Callable[[], str]
) -> None:
    # Given a queue that is armed by its rule
    editor.add("act", due=LATER)
    armed = rule()
    applied: dict[str, str] = {}

    said = deployed(applied.update, before=UPDATE, parameters={"Bell": "schedule"})

    assert applied["OtherBell"] == "yes"
    assert schedule() == rule() == armed
    assert [line for line in said if line.startswith("bell:")] == [
        "bell: the schedule wakes the worker; the rule stays for editors that set it. When all have "
        "DUEBELL_BELL=schedule, remove it with --parameter OtherBell=no"
    ]


def test_a_new_stack_has_one_bell() -> None:
    assert keep_other_bell({}, {"Bell": "schedule"}, {}) == {}
    assert next_step({"Bell": "schedule"}) is None


def test_the_queue_is_armed_by_the_bell_that_stays_before_the_other_is_removed(
    deployed: Any, editor: Editor, schedule: Callable[[], str], rule: Callable[[], str]
) -> None:
    # Given a task for which an editor has set the rule, and a schedule that knows nothing of it
    editor.add("act", due=LATER)
    assert schedule() == FAR_SENTINEL
    seen: list[str] = []

    # When the rule is removed, then the schedule is armed by that time
    said = deployed(lambda: seen.append(schedule()), before=BOTH, parameters={"OtherBell": "no"})

    assert seen == [rule()]
    assert seen != [SENTINEL]
    assert not [line for line in said if line.startswith("bell:")]


def test_a_change_that_failed_arms_the_bell_of_before(
    deployed: Any, session: boto3.Session, editor: Editor, rule: Callable[[], str]
) -> None:
    # Given an armed rule that the change and its rollback have written anew, and no schedule
    editor.add("act", due=LATER)
    armed = rule()

    def failing() -> None:
        session.client("events").put_rule(Name="duebell", ScheduleExpression=SENTINEL)
        raise DeployFailed("UPDATE_ROLLBACK_COMPLETE")

    with pytest.raises(DeployFailed, match="UPDATE_ROLLBACK_COMPLETE"):
        deployed(failing, before=UPDATE, parameters={"Bell": "schedule"})
    assert rule() == armed


def test_arming_by_a_bell_does_not_take_the_other_ones_word(
    session: boto3.Session,
    editor: Editor,
    *,
    clock: Clock,
    schedule: Callable[[], str],
    rule: Callable[[], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    editor.add("act", due=LATER)
    settings = Settings(bell=BellKind.SCHEDULE)
    backend = Backend.connect(settings, session, clock=clock, sleep=clock.sleep)
    # Given an editor that confirms the rule while the queue is armed by the schedule
    verify = Armer.verify
    looks: list[None] = []

    def look(armer: Armer) -> Any:
        looks.append(None)
        return armer.read() if len(looks) == 1 else verify(armer)

    monkeypatch.setattr(Armer, "verify", look)
    arm_this_bell(backend)
    assert (len(looks), schedule()) == (2, rule())
    # And a bell that others set each time is given up on
    monkeypatch.setattr(Armer, "verify", lambda armer: replace(armer.read(), echo_of=clock()))
    with pytest.raises(NotArmed, match="the schedule was set by others each time"):
        arm_this_bell(backend)
