"""`status`: what it says, and its exit status."""

from typing import Any

import boto3
import pytest

from duebell import Editor
from duebell_editor.cli.context import Context
from duebell_shared.backend import Backend
from duebell_shared.bell.bell import BellKind
from duebell_shared.settings import Settings
from tests.cli.program import Duebell, lines
from tests.support import SCHEDULED, Clock, create_schedule


def test_status_says_that_the_rule_is_parked_while_nothing_is_due(duebell: Duebell) -> None:
    def rings() -> str:
        rows = [line.split(maxsplit=1) for line in duebell("status").out.splitlines()]
        return next(row[1].strip() for row in rows if row[0] == "rings").removeprefix("at ").strip()

    assert rings() == "parked"
    duebell("add", "x", "--in", "1h")
    assert rings() == "2026-11-21 13:00:00 UTC (in 1 h)"


def test_status_exits_with_6_when_something_is_wrong(duebell: Duebell, events: Any) -> None:
    duebell("add", "x", "--in", "1h")
    events.disable_rule(Name="duebell")
    status, out, _ = duebell("status")
    assert status == 6
    assert "needs attention" in out
    assert "disabled: " in out
    outcome = duebell("status", "--json")
    assert outcome.status == 6
    assert lines(outcome.out)[0]["healthy"] is False


def test_with_a_schedule_status_and_doctor_speak_of_that(
    duebell: Duebell, session: boto3.Session, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_schedule(session)
    settings = Settings(bell=BellKind.SCHEDULE)
    backend = Backend.connect(settings, session, clock=clock, sleep=clock.sleep)
    monkeypatch.setattr(Context, "editor", lambda _, **__: Editor(backend=backend))
    assert duebell("add", "x", "--in", "1h").status == 0
    [told] = lines(duebell("status", "--json").out)
    assert (told["bell"], told["healthy"]) == ("schedule", True)
    scheduler = session.client("scheduler")
    scheduler.update_schedule(
        Name="duebell",
        ScheduleExpression="rate(1 day)",
        FlexibleTimeWindow={"Mode": "OFF"},
        Target=SCHEDULED,
    )
    assert "the schedule is at rate(1 day)" in duebell("doctor").out
    assert duebell("doctor", "--fix").status == 0
    assert duebell("status").status == 0
