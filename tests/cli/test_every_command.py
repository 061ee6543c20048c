"""The commands that go on, and the one that mends."""

import signal
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
from rich.console import Console

from duebell import Editor, Worker
from duebell_editor.cli import watch
from duebell_shared import errors
from duebell_shared.aws.alarms import Alarms, Silence
from duebell_shared.backend import Backend
from tests.cli.program import Duebell, lines
from tests.support import NOON, Clock


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Have `watch` do these, one after each look, instead of waiting; then Ctrl-C."""

    def set_up(*each: Callable[[], object]) -> None:
        left = iter(each)

        def sleep(_seconds: float) -> None:
            step = next(left, None)
            if step is None:
                raise KeyboardInterrupt
            step()

        monkeypatch.setattr("duebell_editor.cli.watch.sleep", sleep)

    return set_up


def test_watch_is_a_line_for_each_change_when_nobody_looks(
    duebell: Duebell, editor: Editor, steps: Callable[..., None]
) -> None:
    # Given a queue in which something changes, and AWS that is away once
    duebell("add", "x", "--in", "1h", "--id", "later")
    away = mock.patch.object(editor, "status", side_effect=errors.AwsUnavailable("throttled"))
    steps(
        lambda: None,
        lambda: editor.add("x", due=NOON, id="new"),
        away.start,
        away.stop,
    )
    # When it is watched, and ended with Ctrl-C, which is how it ends
    status, out, err = duebell("watch", "--every", "5")
    # Then each change is a line, and what did not change is none
    assert (status, err) == (0, "")
    now = "2026-11-21T12:00:00.000Z"
    told = [line.split("\t") for line in out.splitlines()]
    assert told[0] == [now, "2026-11-21T13:00:00.000Z", "later", "2026-11-21T13:00:00.000Z", "healthy"]
    assert (told[1][2], told[1][4]) == ("new", "healthy")
    assert (told[2][2], told[2][4]) == ("new", "AWS does not answer: throttled")
    assert told[3] == told[1]
    assert len(told) == 4


def test_watch_waits_for_aws_from_the_first_look_on(
    duebell: Duebell, editor: Editor, steps: Callable[..., None]
) -> None:
    away = mock.patch.object(editor, "status", side_effect=errors.AwsUnavailable("throttled"))
    away.start()
    steps(away.stop)
    first, second = (line.split("\t") for line in duebell("watch").out.splitlines())
    assert first[1:] == ["", "", "", "AWS does not answer, trying again: throttled"]
    assert second[1:] == ["parked", "", "", "healthy"]


def test_watch_shows_only_what_is_asked_for(duebell: Duebell, steps: Callable[..., None]) -> None:
    duebell("add", "x", "--in", "1h", "--id", "a")
    duebell("add", "y", "--in", "2h", "--id", "b")
    steps()
    assert duebell("watch", "--action", "y").out.split("\t")[2] == "b"
    assert duebell("watch", "--prefix", "b").out.split("\t")[2] == "b"
    assert duebell("watch", "--status", "paused").out.split("\t")[2] == ""


def test_watch_draws_what_fits_and_counts_the_rest(
    duebell: Duebell, editor: Editor, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given more tasks than a small terminal has lines
    for number in range(30):
        duebell("add", "x", "--in", f"{number + 1}h", "--id", f"t{number:02}")
    view = watch._View(clock(), editor.status(), editor.list())
    away = replace(view, trouble="throttled")

    def drawn(shown: watch._View, width: int, height: int) -> list[str]:
        console = Console(width=width, height=height, force_terminal=True, no_color=True)
        with console.capture() as capture:
            console.print(shown)
        return [line.rstrip() for line in capture.get().splitlines()]

    # When it is drawn
    screen = drawn(view, 80, 24)
    # Then it says as of when, shows what fits, and how many more there are
    assert len(screen) <= 24
    assert "as of 2026-11-21 12:00:00 UTC" in screen[0]
    shown = sum("scheduled" in line for line in screen)
    assert f"and {30 - shown} that are not shown" in screen[-1]
    # And while AWS is away, what was seen stays, with the error below
    assert "trying again: throttled" in drawn(away, 80, 24)[-1]
    assert any("t00" in line for line in drawn(away, 80, 24))
    # And in a terminal of another size, it is laid out for that
    assert len(drawn(view, 60, 60)) > 24


def test_sigterm_ends_watch_through_its_own_doors(duebell: Duebell, steps: Callable[..., None]) -> None:
    steps(lambda: signal.raise_signal(signal.SIGTERM))
    before = signal.getsignal(signal.SIGTERM)
    assert duebell("watch").status == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is before


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


def test_the_status_tells_of_attempts_that_are_to_be_retried(duebell: Duebell, backend: Backend) -> None:
    worker = Worker(backend=backend)
    worker.action("fail")(lambda: 1 / 0)
    duebell("add", "fail", "--in", "0s")
    worker.run()
    assert "0 done, 1 to be retried, 0 failed" in " ".join(duebell("status").out.split())


def test_problems_are_told_with_ways_out_for_a_terminal(duebell: Duebell, events: Any) -> None:
    duebell("add", "x", "--in", "1h")
    events.put_rule(Name="duebell", ScheduleExpression="cron(0 1 1 1 ? 2030)")
    for command in ("doctor", "status"):
        assert "`duebell doctor --fix` sets it right" in duebell(command).out
        assert "Editor" not in duebell(command).out
