"""Tables that fit the terminal: of several layouts, the first whose lines are not longer than it is wide."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from duebell_editor import FailedAttempt, Occurrence
from duebell_shared.schedules.zones import zone_of
from duebell_shared.settings import Color

from .output import in_one_line, local, relative, short

__all__ = [
    "COLORS", "Cell", "Grid", "attempts_table", "block", "first_that_fits", "occurrences_table",
    "times_table",
]  # fmt: skip

Cell = str | Text

#: The terminal's words for the colours of labels.
COLORS = {
    Color.RED: "red",
    Color.ORANGE: "dark_orange",
    Color.YELLOW: "yellow",
    Color.GREEN: "green",
    Color.BLUE: "blue",
    Color.PURPLE: "magenta",
    Color.GRAY: "bright_black",
}

_One = TypeVar("_One")

#: Characters between two columns.
_GAP = 2

#: The least width of a last column that may be cut.
_LEAST = 16


@dataclass(frozen=True)
class Grid:
    """Rows of cells in one line each. With `may_be_cut`, the last column is cut rather than left out."""

    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    may_be_cut: bool = False

    @property
    def width(self) -> int:
        """The width of the narrowest terminal that it fits."""
        *others, last = self._widths
        return sum(others) + _GAP * len(others) + (min(last, _LEAST) if self.may_be_cut else last)

    def table(self, width: int) -> Table:
        """The rows under their headings, on a terminal as wide as this."""
        table = Table(box=None, pad_edge=False, padding=(0, _GAP // 2), header_style="bold")
        *others, last = self._widths
        room = width - sum(others) - _GAP * len(others)
        widths = [*others, min(last, max(room, _LEAST)) if self.may_be_cut else last]
        for heading, size in zip(self.headings, widths, strict=True):
            table.add_column(heading, no_wrap=True, overflow="ellipsis", width=size)
        for row in self.rows:
            table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
        return table

    @property
    def _widths(self) -> list[int]:
        """The width of each column when nothing is cut."""
        columns = zip(self.headings, *self.rows, strict=True)
        return [max(cell_len(str(cell)) for cell in column) for column in columns]


def first_that_fits(
    layouts: Iterable[Grid], width: int, otherwise: Callable[[], Iterable[RenderableType]]
) -> RenderableType:
    """The first layout that is not wider than `width`, or `otherwise` if all are."""
    fitting = next((grid for grid in layouts if grid.width <= width), None)
    return Group(*otherwise()) if fitting is None else fitting.table(width)


def block(title: Text, *lines: Cell) -> Iterator[RenderableType]:
    """A title with lines below it, indented, for terminals that are too narrow for a table."""
    yield title
    for line in lines:
        yield Padding(Text(line) if isinstance(line, str) else line, (0, 0, 0, 2), expand=False)


def attempts_table(attempts: Sequence[FailedAttempt], width: int) -> RenderableType:
    """The attempts that failed, the latest first."""

    def why(one: FailedAttempt) -> str:
        return in_one_line(f"{one.type}: {one.message}")

    def row(one: FailedAttempt, time: Callable[[datetime], str]) -> Sequence[str]:
        times = [time(one.due), *_times(time, one)]
        return (str(one.attempt), *times, why(one))

    def narrow(one: FailedAttempt) -> Iterator[RenderableType]:
        started, ended = _times(short, one)
        title = Text(f"failed attempt {one.attempt}, due {short(one.due)}", style="bold")
        return block(title, f"started {started}, ended {ended}", why(one))

    headings = ("failed attempt", "due", "started", "ended", "failure")
    return _latest_first(attempts, headings, row, narrow, width)


def occurrences_table(occurrences: Sequence[Occurrence], width: int) -> RenderableType:
    """The occurrences that are over, the latest first."""

    def result(one: Occurrence) -> str:
        return f"{one.result}{' (extra)' if one.extra else ''}"

    def late(one: Occurrence) -> str:
        return "-" if one.lateness_ms is None else f"{one.lateness_ms / 1000:,.1f} s"

    def row(one: Occurrence, time: Callable[[datetime], str]) -> Sequence[str]:
        missed = f"{one.missed:,}" if one.missed else ""
        failure = in_one_line(one.failure or "")
        return (time(one.due), result(one), str(one.attempts), late(one), missed, failure)

    def narrow(one: Occurrence) -> Iterator[RenderableType]:
        missed = f", {one.missed:,} missed before it" if one.missed else ""
        lines = [f"{one.attempts} attempts, {late(one)} late{missed}", *filter(None, [one.failure])]
        return block(Text(f"{short(one.due)} {result(one)}", style="bold"), *map(in_one_line, lines))

    headings = ("due", "result", "attempts", "late", "missed", "failure")
    return _latest_first(occurrences, headings, row, narrow, width)


def times_table(instants: Iterable[datetime], timezone: str, now: datetime, width: int) -> RenderableType:
    """Times to come, as clocks show them in a time zone and here."""
    there = [(instant, instant.astimezone(zone_of(timezone))) for instant in instants]
    full = [
        (f"{shown:%a %Y-%m-%d %H:%M:%S %z}", local(instant), relative(instant, now))
        for instant, shown in there
    ]
    brief = [(f"{shown:%a %Y-%m-%d %H:%M}", short(instant)) for instant, shown in there]
    layouts = [
        Grid((timezone, "here", "")[:columns], [row[:columns] for row in rows])
        for rows, columns in ((full, 3), (full, 2), (brief, 2), (brief, 1))
    ]
    return first_that_fits(layouts, width, lambda: [layouts[-1].table(width)])


def _latest_first(
    items: Sequence[_One],
    headings: Sequence[str],
    row: Callable[[_One, Callable[[datetime], str]], Sequence[str]],
    narrow: Callable[[_One], Iterable[RenderableType]],
    width: int,
) -> RenderableType:
    """A table with a row for each item, with times in full or short; on narrow terminals a block for each."""
    latest_first = items[::-1]
    layouts = (Grid(headings, [row(one, time) for one in latest_first]) for time in (local, short))
    return first_that_fits(layouts, width, lambda: (part for one in latest_first for part in narrow(one)))


def _times(time: Callable[[datetime], str], one: FailedAttempt) -> tuple[str, str]:
    started, finished = one.started_at, one.finished_at
    return (time(started) if started else "-", time(finished) if finished else "-")
