"""What a task has behind it, and what a schedule has before it: each as a table, or in blocks when narrow."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from duebell_editor import FailedAttempt, Occurrence
from duebell_shared.zones import zone_of

from .grid import Grid, first_that_fits
from .text import local, plain, relative, short

__all__ = ["attempts_table", "occurrences_table", "times_table"]


def attempts_table(attempts: Sequence[FailedAttempt], width: int) -> RenderableType:
    """The attempts that failed, the latest first."""

    def grid(time: Callable[[datetime], str]) -> Grid:
        rows = [
            (
                str(one.attempt),
                time(one.due),
                _or_none(time, one.started_at),
                _or_none(time, one.finished_at),
                plain(_why(one)),
            )
            for one in reversed(attempts)
        ]
        return Grid(("failed attempt", "due", "started", "ended", "failure"), rows)

    def blocks() -> Iterator[RenderableType]:
        for one in reversed(attempts):
            times = f"started {_or_none(short, one.started_at)}, ended {_or_none(short, one.finished_at)}"
            yield Text(f"failed attempt {one.attempt}, due {short(one.due)}", style="bold")
            yield Padding(Text(f"{times}\n{plain(_why(one))}"), (0, 0, 0, 2), expand=False)

    return first_that_fits([partial(grid, local), partial(grid, short)], width, blocks)


def occurrences_table(occurrences: Sequence[Occurrence], width: int) -> RenderableType:
    """The occurrences that are over, the latest first."""

    def grid(time: Callable[[datetime], str]) -> Grid:
        rows = [
            (
                time(one.due),
                _result(one),
                str(one.attempts),
                _late(one),
                f"{one.missed:,}" if one.missed else "",
                plain(" ".join((one.failure or "").split())),
            )
            for one in reversed(occurrences)
        ]
        return Grid(("due", "result", "attempts", "late", "missed", "failure"), rows)

    def blocks() -> Iterator[RenderableType]:
        for one in reversed(occurrences):
            missed = f", {one.missed:,} missed before it" if one.missed else ""
            facts = f"{one.attempts} attempts, {_late(one)} late{missed}"
            yield Text(f"{short(one.due)} {_result(one)}", style="bold")
            yield Padding(
                Text(f"{facts}\n{plain(one.failure)}" if one.failure else facts), (0, 0, 0, 2), expand=False
            )

    return first_that_fits([partial(grid, local), partial(grid, short)], width, blocks)


def times_table(instants: Iterable[datetime], timezone: str, now: datetime, width: int) -> RenderableType:
    """Times to come, as clocks show them in a time zone and here."""
    zone = zone_of(timezone)
    there = [(instant, instant.astimezone(zone)) for instant in instants]

    def full(*, far: bool) -> Grid:
        rows = [(f"{shown:%a %Y-%m-%d %H:%M:%S %z}", local(at), relative(at, now)) for at, shown in there]
        names = (timezone, "here", "")
        return Grid(names, rows) if far else Grid(names[:2], [row[:2] for row in rows])

    def brief(*, here: bool) -> Grid:
        rows = [(f"{shown:%a %Y-%m-%d %H:%M}", short(at)) for at, shown in there]
        return Grid((timezone, "here"), rows) if here else Grid((timezone,), [row[:1] for row in rows])

    layouts = [
        partial(full, far=True),
        partial(full, far=False),
        partial(brief, here=True),
        partial(brief, here=False),
    ]
    return first_that_fits(layouts, width, lambda: (brief(here=False).table(width),))


def _why(one: FailedAttempt) -> str:
    return " ".join(f"{one.type}: {one.message}".split())


def _result(one: Occurrence) -> str:
    return f"{one.result}{' (extra)' if one.extra else ''}"


def _late(one: Occurrence) -> str:
    return "-" if one.lateness_ms is None else f"{one.lateness_ms / 1000:,.1f} s"


def _or_none(time: Callable[[datetime], str], instant: datetime | None) -> str:
    return "-" if instant is None else time(instant)
