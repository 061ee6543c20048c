"""The command that mends, and what status says."""

from datetime import timedelta
from typing import Any

import pytest

from duebell_shared.aws.alarms import Alarms, Silence
from tests.cli.program import Duebell, lines
from tests.support import Clock


def test_doctor_says_that_nobody_is_told_and_that_is_no_problem(
    duebell: Duebell, monkeypatch: pytest.MonkeyPatch
) -> None:
    for silence, way_out in (
        (Silence.NO_ALARMS, "duebell deploy --alarm-mail ADDRESS"),
        (Silence.NO_TARGET, "duebell deploy --alarm-mail ADDRESS"),
        (Silence.UNCONFIRMED, "the link in the mail that AWS sent"),
    ):
        monkeypatch.setattr(Alarms, "silence", lambda _, found=silence: found)
        status, out, _ = duebell("doctor")
        assert status == 0
        assert f"nobody is told when tasks fail: {silence}" in out
        assert way_out in out
        [document] = lines(duebell("doctor", "--json").out)
        assert f"nobody is told when tasks fail: {silence}" in document["advice"]
        assert document["healthy"]
    monkeypatch.setattr(Alarms, "silence", lambda _: None)
    assert "nobody is told" not in duebell("doctor").out


def test_doctor_says_what_it_mended(duebell: Duebell, events: Any) -> None:
    # Given a rule that someone set elsewhere
    duebell("add", "x", "--in", "1h")
    events.put_rule(Name="duebell", ScheduleExpression="cron(0 1 1 1 ? 2030)")
    # When the doctor only looks, it says what is wrong; when it mends, what it was
    assert duebell("doctor").status == 6
    status, out, _ = duebell("doctor", "--fix")
    assert status == 0
    mended, healthy, *_ = out.splitlines()
    assert mended.startswith("mended: the rule is at cron(0 1 1 1 ? 2030)")
    assert healthy == "healthy: nothing is wrong"
    # And there is nothing to mend then
    [document] = lines(duebell("doctor", "--fix", "--json").out)
    assert document["mended"] == []


def test_doctor_says_what_did_not_get_better(duebell: Duebell, clock: Clock) -> None:
    # Given a task that is overdue, because its ring brought no run
    duebell("add", "x", "--in", "1h")
    clock.advance(timedelta(hours=1, minutes=5))
    # When it is repaired, then the task is still overdue
    status, out, _ = duebell("doctor", "--fix")
    assert status == 6
    mended, left, way_out = " ".join(out.split()).partition("tasks are overdue")
    assert mended.startswith("mended: the rule should have rung at")
    assert left
    assert "the rule is set to ring at" in way_out
    assert "--fix" not in way_out
