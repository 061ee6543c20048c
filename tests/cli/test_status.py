"""`status`: what it says, and its exit status."""

from datetime import timedelta
from typing import Any

import boto3
import pytest
from rich.console import Console

from duebell import Editor, LateRing, SchedulerStatus
from duebell_editor.cli.context import Context
from duebell_editor.cli.show import status_facts
from duebell_shared.backend import Backend
from duebell_shared.bell.bell import BellKind
from duebell_shared.settings import Settings
from tests.cli.program import Duebell, lines
from tests.support import NOON, SCHEDULED, Clock, create_schedule


def test_status_says_that_the_rule_is_parked_while_nothing_is_due(duebell: Duebell) -> None:
    def rings() -> str:
        rows = [line.split(maxsplit=1) for line in duebell("status").out.splitlines()]
        return next(row[1].strip() for row in rows if row[0] == "rings")

    assert rings() == "parked"
    duebell("add", "x", "--in", "1h")
    assert rings() == "2026-11-21 13:00:00 UTC (in 1 h)"


def test_status_exits_with_6_when_something_is_wrong(duebell: Duebell, events: Any) -> None:
    duebell("add", "x", "--in", "1h")
    events.disable_rule(Name="duebell")
    status, out, _ = duebell("status")
    assert status == 6
    assert "needs attention" in out
    assert "problem 1" in out
    assert "disabled" in out
    outcome = duebell("status", "--json")
    assert outcome.status == 6
    assert lines(outcome.out)[0]["healthy"] is False


@pytest.mark.parametrize(("days", "is_told"), [(6, True), (8, False)])
def test_status_tells_of_a_ring_that_was_lost_for_a_week(days: int, is_told: bool) -> None:
    came_at = NOON - timedelta(days=days)
    ring = LateRing(minute=came_at - timedelta(minutes=4), came_at=came_at)
    console = Console(width=200)
    with console.capture() as said:
        console.print(status_facts(SchedulerStatus(table="t", rule="r", late_ring=ring), NOON))
    assert ("late ring" in said.get()) is is_told
    assert ("a run came at" in said.get()) is is_told


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


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, None),
        ({"intake_waiting": 0, "intake_dead_letters": 0}, ["0 waiting", "none"]),
        (
            {"intake_waiting": 1234, "intake_since": NOON - timedelta(hours=1), "intake_dead_letters": 7},
            ["1,234 waiting, the oldest since 2026-11-21 11:00:00 UTC (1 h ago)", "7"],
        ),
    ],
)
def test_status_tells_of_the_intake_if_there_is_one(given: dict[str, Any], says: list[str] | None) -> None:
    console = Console(width=200)
    with console.capture() as said:
        console.print(status_facts(SchedulerStatus(table="t", rule="r", **given), NOON))
    rows = dict(line.split("  ", 1) for line in said.get().splitlines())
    told = [rows[name].strip() for name in ("intake", "dead letters") if name in rows]
    assert told == (says or [])
