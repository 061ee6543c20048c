"""Tables that fit the terminal: of several layouts, the first whose lines are not longer than it is wide."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

__all__ = ["Cell", "Grid", "first_that_fits"]

Cell = str | Text

#: Between two columns.
_GAP = 2

#: What must be left of a last column that may be cut.
_LEAST = 16


@dataclass(frozen=True)
class Grid:
    """Rows of cells in one line each. Of `may_be_cut`, the last column may be, rather than be left out."""

    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    may_be_cut: bool = False

    @property
    def width(self) -> int:
        """How wide a terminal must be for it."""
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
        """How wide each column is when nothing is cut."""
        return [max(map(_width, column)) for column in zip(self.headings, *self.rows, strict=True)]


def first_that_fits(
    layouts: Iterable[Callable[[], Grid]], width: int, otherwise: Callable[[], Iterable[RenderableType]]
) -> RenderableType:
    """The first of these that is not wider than this, or what there is for terminals narrower than any."""
    for layout in layouts:
        grid = layout()
        if grid.width <= width:
            return grid.table(width)
    return Group(*otherwise())


def _width(cell: Cell) -> int:
    return cell.cell_len if isinstance(cell, Text) else cell_len(cell)
