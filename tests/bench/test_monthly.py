"""What the page says of a month is what the templates make, the worker writes and the simulation shows."""

from pathlib import Path

from bench import telemetry, waiting
from bench.figures import load
from bench.monthly import Standing, recorded, waits, watched

from duebell_editor.simulation.cost import ALARMS

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


def test_what_the_other_pages_say_of_waiting_is_what_this_one_does() -> None:
    kept = load().waiting
    assert kept
    *_, always = waits(kept)
    for page in ("README.md", "docs/how-to/precision.md"):
        assert f"about ${always.dollars:.0f} a month at most" in (ROOT / page).read_text()


def test_the_readme_says_what_stands_still_costs() -> None:
    standing = Standing()
    readme = (ROOT / "README.md").read_text()
    assert f"[${standing.dollars:.2f} a month at most](docs/performance.md#standing-still-a-month)" in readme
    kept = load().telemetry
    assert kept
    [one, *_] = watched(kept)
    assert one.dollars == standing.dollars + one.metrics_dollars
    assert f"${one.dollars:.2f} with one" in (ROOT / "docs" / "scale.md").read_text()
