"""The results as pictures, on a white ground of their own, so that they read in a dark page too."""

from bench.drawing import drawn
from matplotlib.patches import Rectangle

from .cells import Kind, cell, kind_of
from .costs import costs, priced
from .results import FOLDER, Results
from .simulate import ROWS
from .words import SCENE_TITLES

__all__ = ["draw"]

_OURS, _OTHERS = "#0b6e99", "#8a8a8a"

_COLOURS = {
    Kind.FINE: "#dff1e3",
    Kind.TWICE: "#fdeec2",
    Kind.LATE: "#fdeec2",
    Kind.LOST: "#f7cfc4",
    Kind.NONE: "#ececec",
}

_TICKS = {0.1: "0.1 s", 1: "1 s", 10: "10 s", 60: "1 min", 600: "10 min", 3600: "1 h", 86400: "1 day"}


def draw(results: Results) -> None:
    """Draw what was found."""
    FOLDER.mkdir(exist_ok=True)
    _lateness(results)
    _outcomes(results)
    _costs(results)


def _lateness(results: Results) -> None:
    """Half, 90 % and 99 % of the tasks that are due at random seconds, on a scale of powers of ten."""
    with drawn(FOLDER / "lateness.svg", width=8.0, height=4.6) as axes:
        for place, row in enumerate(ROWS):
            outcome = results.simulated[row.name]["seconds"].outcome
            late = outcome.late
            if not late or outcome.lost > outcome.done:
                text = f"{outcome.lost} of {outcome.expected} never started"
                axes.text(0.06, place, text, va="center", fontsize=9, color="#a03c1d")
                continue
            colour = _OURS if row.name.startswith("duebell") else _OTHERS
            ends = [max(each, 0.05) for each in (late.p50, late.p90, late.p99)]
            axes.plot([ends[0], ends[-1]], [place, place], color=colour, linewidth=2.5, alpha=0.5)
            for mark, seconds in zip("osD", ends, strict=True):
                axes.plot(seconds, place, mark, color=colour, markersize=6)
        for mark, label in zip("osD", ("half of them by", "90 %", "99 %"), strict=True):
            axes.plot([], [], mark, color="#444444", label=label)
        axes.set_xscale("log")
        axes.set_xlim(0.04, 500_000)
        axes.set_xticks(list(_TICKS), list(_TICKS.values()))
        axes.minorticks_off()
        axes.set_yticks(range(len(ROWS)), [row.title for row in ROWS])
        axes.invert_yaxis()
        axes.set_xlabel("from the due date to the start; simulated")
        axes.legend(frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
        axes.grid(visible=False, axis="y")


def _outcomes(results: Results) -> None:
    """A cell for each design and scene."""
    with drawn(FOLDER / "outcomes.svg", width=11.5, height=5.6) as axes:
        for y, row in enumerate(ROWS):
            played = results.simulated[row.name]
            for x, scene in enumerate(SCENE_TITLES):
                kind = kind_of(played[scene], played["seconds"])
                box = Rectangle((x - 0.48, y - 0.45), 0.96, 0.9, color=_COLOURS[kind])
                axes.add_patch(box)
                text = cell(played[scene], played["seconds"]).replace(", ", ",\n")
                axes.text(x, y, text, ha="center", va="center", fontsize=7.5, color="#222222")
        axes.set_xlim(-0.5, len(SCENE_TITLES) - 0.5)
        axes.set_ylim(len(ROWS) - 0.5, -0.5)
        axes.set_xticks(
            range(len(SCENE_TITLES)), [title.replace(" ", "\n", 1) for title in SCENE_TITLES.values()]
        )
        axes.xaxis.tick_top()
        axes.set_yticks(range(len(ROWS)), [row.title for row in ROWS])
        axes.tick_params(length=0)
        axes.grid(visible=False)
        for spine in axes.spines.values():
            spine.set_visible(False)


def _costs(results: Results) -> None:
    """Dollars for a million that come due alone, and 400 at a time."""
    found = [(row, costs(results, name)) for row, name in priced() if row.name != "ttl-stream-promised"]
    with drawn(FOLDER / "costs.svg", width=8.0, height=4.6) as axes:
        for place, (row, each) in enumerate(found):
            colour = _OURS if row.name.startswith("duebell") else _OTHERS
            axes.plot([each.alone, each.burst], [place, place], color=colour, linewidth=2.5, alpha=0.5)
            axes.plot(each.alone, place, "o", color=colour)
            axes.plot(each.burst, place, "D", color=colour, markersize=6)
        for mark, label in (("o", "due alone, some 500 a day"), ("D", "due 400 at a time")):
            axes.plot([], [], mark, color="#444444", label=label)
        axes.set_xscale("log")
        axes.set_xticks(
            [0.3, 1, 3, 10, 30, 100, 300, 1000], ["$0.30", "$1", "$3", "$10", "$30", "$100", "$300", "$1,000"]
        )
        axes.minorticks_off()
        axes.set_yticks(range(len(found)), [row.title for row, _ in found])
        axes.invert_yaxis()
        axes.set_xlabel("for a million tasks, without free tiers and without what is paid by the month")
        axes.legend(frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
        axes.grid(visible=False, axis="y")
