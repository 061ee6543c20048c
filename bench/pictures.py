"""The figures as pictures: on a white ground of their own, so that they read in a dark page too."""

import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from matplotlib.axes import Axes

from bench import costs
from bench.costs import SCHEDULER, SCHEDULER_WITH_TABLE
from bench.drawing import drawn
from bench.figures import FOLDER, Figures
from duebell_editor.simulation.cost import Cost

__all__ = ["draw"]

_OURS, _FLOOR, _ARTICLE, _SCHEDULER = "#0b6e99", "#8a8a8a", "#c2571a", "#6a4c93"


def draw(figures: Figures) -> None:
    """Draw what was measured."""
    if figures.adding:
        _adding(figures)
    if figures.draining:
        _draining(figures)
    if figures.simulated:
        _lateness(figures)
    if figures.capacity:
        _costs(figures)


@contextmanager
def _picture(name: str, *, height: float = 3.2) -> Iterator[Axes]:
    with drawn(FOLDER / f"{name}.svg", width=7.2, height=height) as axes:
        yield axes


def _adding(figures: Figures) -> None:
    lines = (
        ("article", "the article: scan, compare, put", _ARTICLE, "s-"),
        ("duebell", "duebell", _OURS, "o-"),
        ("floor", "floor: bare put_item and get_item", _FLOOR, "o--"),
        ("scheduler", "EventBridge Scheduler: create_schedule", _SCHEDULER, "^-"),
    )
    sizes = [each.queued for each in figures.adding or ()]
    with _picture("adding") as axes:
        for name, label, colour, style in lines:
            medians = [each.rounds.median_ms(name) for each in figures.adding or ()]
            axes.loglog(sizes, medians, style, color=colour, label=label)
        axes.set_xlabel("tasks in the queue")
        axes.set_ylabel("ms for one add")
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.legend(frameon=False, fontsize=9)


def _draining(figures: Figures) -> None:
    bars = []
    for each in figures.draining or ():
        action = f", action {each.action_s * 1000:.0f} ms" if each.action_s else ""
        what = f"{each.tasks:,}{action}"
        bars.append((f"duebell, {what}", each.ours, _OURS))
        bars.append((f"floor, {what}", each.floor, _FLOOR))
        if each.article:
            bars.append((f"the article, {what}", each.article, _ARTICLE))
    with _picture("draining", height=3.4) as axes:
        for row, (_, rates, colour) in enumerate(reversed(bars)):
            axes.barh(row, statistics.median(rates), color=colour, height=0.7)
            axes.plot([min(rates), max(rates)], [row, row], color="#222222", linewidth=1)
        axes.set_yticks(range(len(bars)), [name for name, _, _ in reversed(bars)])
        axes.set_xlabel("tasks a second: the median round, from the worst to the best")
        axes.grid(visible=False, axis="y")


def _lateness(figures: Figures) -> None:
    rows = [*(figures.simulated or []), *(figures.lateness or [])]
    marks: tuple[tuple[str, str, Callable[[int], float]], ...] = (
        ("half of them by", "o", lambda row: rows[row].p50),
        ("90 %", "s", lambda row: rows[row].p90),
        ("99 %", "D", lambda row: rows[row].p99),
    )
    places = range(len(rows))
    with _picture("lateness", height=3.4) as axes:
        axes.hlines(places, 0, [row.p99 for row in rows], color="#bcd3dd", linewidth=3)
        for label, mark, at in marks:
            axes.plot([at(row) for row in places], list(places), mark, color=_OURS, label=label)
        axes.set_yticks(places, [row.what for row in rows])
        axes.invert_yaxis()
        axes.set_xlim(left=0)
        axes.set_xlabel("seconds after the due date")
        axes.legend(frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
        axes.grid(visible=False, axis="y")


def _costs(figures: Figures) -> None:
    if not (of := costs.measured_in(figures)):
        return
    rows = list(costs.rows(of))
    places = range(len(rows))
    with _picture("costs") as axes:
        left = [0.0] * len(rows)
        for part, color in (("DynamoDB", _OURS), ("Lambda", "#8cc0d6"), ("log", "#9aa7ad")):
            dollars = [_part(row.minute, part) for row in rows]
            axes.barh(places, dollars, left=left, color=color, label=part)
            left = [so_far + each for so_far, each in zip(left, dollars, strict=True)]
        for marker, label, scheduler in (
            ("D", SCHEDULER, [row.scheduler.dollars for row in rows]),
            ("s", SCHEDULER_WITH_TABLE, [row.with_table.dollars for row in rows]),
        ):
            axes.plot(scheduler, list(places), marker, color=_SCHEDULER, markeredgecolor="white", label=label)
        axes.set_yticks(places, [row.what for row in rows])
        axes.invert_yaxis()
        axes.set_xlim(left=0)
        axes.set_xlabel("dollars for a million")
        axes.legend(frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
        axes.grid(visible=False, axis="y")


def _part(cost: Cost, name: str) -> float:
    return {"DynamoDB": cost.dynamodb, "Lambda": cost.function, "log": cost.log}[name]
