"""The figures that are kept make the pages; what is beyond a limit is said; what is measured is real."""

from datetime import timedelta
from pathlib import Path

from bench import limits, telemetry, waiting
from bench.actions import worker
from bench.costs import ALARMS, measured_in
from bench.document import PAGE, render
from bench.figures import Figures, load
from bench.many import Many
from bench.monthly import recorded, waits, watched
from bench.on_account import add, report
from bench.parts import PARTS, beyond
from bench.timing import Rounds

from duebell.testing import Rehearsal
from duebell_editor.simulation.cost import measured
from tests.support import NOON


def test_what_is_beyond_its_limit_is_said() -> None:
    slow = Many(tasks=10_000, rounds=Rounds(us={"add_many": [1.0, 1.0], "put_item": [2.0, 2.0]}))
    [line] = beyond(Figures(many=slow), ["many"])
    assert "2.00" in line
    assert "5 is the limit" in line
    assert not beyond(Figures(many=slow), ["capacity"])


def test_each_part_is_a_field_of_the_figures_and_each_limit_is_of_a_part() -> None:
    assert {"measured", *PARTS} == set(Figures.__struct_fields__)
    checks = {part.beyond.__name__ for part in PARTS.values()} - {"<lambda>"}
    assert checks == set(limits.__all__)


def test_the_page_is_made_of_the_figures_that_are_kept_beside_it() -> None:
    assert render(load()) == PAGE.read_text()


def test_duebell_cost_computes_from_the_figures_of_the_page() -> None:
    # If this is no longer so: make bench of any part writes it anew
    assert measured() == measured_in(load())


ROOT = Path(__file__).parents[2]


def test_the_alarms_and_dashboards_are_those_of_the_template() -> None:
    template = (ROOT / "infra" / "template.yaml").read_text()
    # The page's month is without an intake queue, which has an alarm more
    assert template.count("Type: AWS::CloudWatch::Alarm\n    Condition: IsWatched\n") == ALARMS
    assert template.count("Type: AWS::CloudWatch::Dashboard") == 1


def test_the_page_knows_how_many_metrics_the_worker_writes() -> None:
    measured, kept = telemetry.measure(), load().telemetry
    assert kept
    # If this is no longer so, and that is meant: make bench ARGS=telemetry
    assert (measured.fixed_metrics, measured.action_metrics) == (kept.fixed_metrics, kept.action_metrics)
    assert abs(measured.task_bytes - kept.task_bytes) <= kept.task_bytes / 10
    [one, *_] = watched(kept)
    assert (one.actions, one.metrics) == (1, kept.fixed_metrics + kept.action_metrics)


def test_the_page_says_of_waiting_what_the_simulation_shows() -> None:
    measured, kept = waiting.measure(), load().waiting
    assert kept
    # If this is no longer so, and that is meant: make bench ARGS=waiting
    assert abs(measured.runs - kept.runs) < 0.05
    assert abs(measured.rule_changes - kept.rule_changes) < kept.rule_changes / 10
    *_, always = waits(kept)
    assert always.share == 1
    figures = load()
    assert figures.capacity
    changes = {row.what: row.changes for row in recorded(figures.capacity, kept)}
    assert changes["a run every hour"] == 30 * 24


def test_tasks_are_added_once_and_reported_when_they_are_over() -> None:
    rehearsal = Rehearsal(worker, now=NOON)
    for _ in range(2):
        add(rehearsal.editor, hours=1, tasks=50, now=NOON)
    half = report(rehearsal.editor, tasks=50)
    assert (half.lateness, len(half.missing)) == (None, 50)
    rehearsal.let_time_pass(timedelta(hours=2))
    whole = report(rehearsal.editor, tasks=51)
    assert whole.lateness
    assert (whole.lateness.tasks, whole.missing, whole.early) == (50, ("lateness-50",), ())
    assert len(whole.seconds) == 50
    assert 0 <= whole.lateness.p50 <= whole.lateness.worst <= 120
