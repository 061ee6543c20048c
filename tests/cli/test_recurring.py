"""Recurring tasks on the command line."""

from datetime import timedelta

from duebell import Editor
from duebell_shared.instants import render
from tests.cli.program import Duebell, lines


def test_a_recurring_task(duebell: Duebell) -> None:
    expression = "cron(0 9 ? * MON-FRI *)"
    arguments = ("--timezone", "Europe/Berlin", "--missed", "skip", "--max-runs", "5", "--spread", "90s")
    status, out, err = duebell("add", "report", "--schedule", expression, *arguments, "--id", "r")
    assert (status, err) == (0, "")
    assert "report due 2026-11-23 08:00" in out
    [shown] = lines(duebell("show", "r", "--json").out)
    assert shown["spread"] == 90
    assert shown["recurrence"]["missed"] == "skip"
    assert shown["recurrence"]["schedule"]["timezone"] == "Europe/Berlin"
    assert shown["recurrence"]["next_due"] == "2026-11-24T08:00:00.000Z"
    text = duebell("show", "r").out
    assert "every weekday at 09:00, Europe/Berlin" in text
    assert "max runs: 5" in text
    assert "scheduled" in duebell("run-now", "r").out


def test_preview(duebell: Duebell) -> None:
    arguments = (
        "cron(30 2 * * ? *)",
        "--timezone",
        "Europe/Berlin",
        "--start",
        "2027-03-27T12:00",
        "--count",
        "2",
    )
    status, out, _ = duebell("preview", *arguments)
    assert status == 0
    assert "every day at 02:30, Europe/Berlin" in out
    assert "Sun 2027-03-28 03:00:00 +0200" in out
    [document] = lines(duebell("preview", *arguments, "--json").out)
    assert document["occurrences"] == ["2027-03-28T01:00:00.000Z", "2027-03-29T00:30:00.000Z"]
    assert document["starts_by"] == ["2027-03-28T01:03:30.000Z", "2027-03-29T00:33:30.000Z"]


def test_a_task_is_changed(duebell: Duebell, editor: Editor) -> None:
    duebell("add", "x", "--schedule", "0 9 * * *", "--timezone", "Europe/Berlin", "--id", "r")
    assert duebell("update", "r", "--timezone", "America/New_York", "--payload", '{"n": 2}').status == 0
    task = editor.get("r")
    assert (task.payload, render(task.due)) == ({"n": 2}, "2026-11-21T14:00:00.000Z")
    assert "due 2026-11-21 13:00" in duebell("update", "r", "--schedule", "0 13 * * *", "--action", "y").out
    status, _, err = duebell("update", "r")
    assert (status, "nothing is given to change" in err) == (2, True)


def test_what_a_task_can_do_without_can_be_taken_away(duebell: Duebell, editor: Editor) -> None:
    rules = ("--end", "2027-01-01T00:00Z", "--max-runs", "3", "--spread", "10m")
    duebell("add", "x", "--schedule", "0 9 * * *", "--id", "r", *rules)
    duebell("add", "x", "--in", "1h", "--expires-after", "1h", "--id", "once")
    assert duebell("update", "r", "--no-end", "--no-max-runs", "--no-spread").status == 0
    task = editor.get("r")
    assert task.recurrence
    assert (task.recurrence.schedule.end, task.recurrence.max_runs) == (None, None)
    assert (task.spread, task.queued) == (timedelta(0), task.due)
    assert duebell("update", "once", "--no-expires-after", "--spread", "5m").status == 0
    once = editor.get("once")
    assert (once.expires_after, once.spread) == (None, timedelta(minutes=5))
    status, _, err = duebell("update", "r", "--end", "2027-01-01T00:00Z", "--no-end")
    assert (status, "either --end or --no-end" in err) == (2, True)


def test_a_backfill_counts_asks_and_adds(duebell: Duebell, editor: Editor) -> None:
    # Given a report at nine in Berlin; now it is noon UTC on 21 November
    duebell("add", "report", "--schedule", "0 9 * * *", "--timezone", "Europe/Berlin", "--id", "r")
    days = ("backfill", "r", "--from", "2026-11-20", "--to", "2026-11-21")
    # When
    plan = duebell(*days, "--dry-run")
    unasked = duebell(*days)
    added = duebell(*days, "--yes", "--per-second", "0.1")
    [again] = lines(duebell(*days, "--yes", "--json").out)
    # Then the days are those of the schedule's zone, the last one as far as it has passed
    assert (plan.status, plan.out) == (0, "2 tasks would be added; nothing was changed\n")
    assert (unasked.status, unasked.out) == (2, "")
    assert "2 tasks would be added, 2026-11-20 08:00" in unasked.err
    assert (added.status, added.out) == (0, "2 added, 0 there already, 0 failed: list --prefix r@\n")
    assert (again["added"], again["there_already"], again["failures"]) == (0, 2, [])
    dues = [render(task.due) for task in editor.find("r@").tasks]
    assert dues == ["2026-11-20T08:00:00.000Z", "2026-11-21T08:00:00.000Z"]
    # And an error names the option
    for options, words in (
        (("--from", "2026-11-20", "--to", "2026-11-22T00:00Z"), "--to"),
        (("--from", "soon", "--to", "2026-11-21"), "--from soon is not an ISO-8601"),
    ):
        wrong = duebell("backfill", "r", *options, "--yes")
        assert (wrong.status, words in wrong.err) == (2, True)
