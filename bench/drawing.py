"""Pictures as SVG, on a white ground of their own, so that they read in a dark page too."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["drawn"]

_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "duebell",  # the same figures give the same file
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e3e3e3",
    "axes.axisbelow": True,
}


@contextmanager
def drawn(path: Path, *, width: float, height: float) -> Iterator[Axes]:
    """Draw inside, and write the picture to this file at the end. Width and height are inches."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(width, height), facecolor="white", layout="constrained")
        yield figure.subplots()
        figure.savefig(path, metadata={"Date": None})
        lines = path.read_text(encoding="utf-8").splitlines()
        path.write_text("".join(f"{line.rstrip()}\n" for line in lines), encoding="utf-8")
