"""`duebell add --from`: tasks of a file of JSON lines, added together, with a bar."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from duebell_editor import AddReport, NewTask
from duebell_shared.errors import InvalidTask
from duebell_shared.instants import parse
from duebell_shared.wall_clock import instant_of

from .text import in_options, plain

__all__ = ["lines_named", "progress_bar", "show_report", "tasks_from"]

_TIMES = {"due", "start", "end"}
_DURATIONS = {"in", "spread", "expires_after"}

_PLACE = re.compile(r"tasks\[(\d+)\]")

#: Failures beyond these are only counted.
_SHOWN = 20


def tasks_from(file: str, zone: ZoneInfo | None) -> dict[int, NewTask]:
    """The tasks of a file by line, `-` being stdin: each an object with the arguments of `Editor.add`.

    Times are ISO-8601 text, in `zone` if they have no offset; `in`, `spread` and `expires_after` are seconds.
    Raises InvalidTask with the line and the field, BadParameter.
    """
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise typer.BadParameter(f"cannot read {file}: {error.strerror}") from error
    lines = enumerate(text.splitlines(), start=1)
    return {number: _task(number, line, zone) for number, line in lines if line.strip()}


@contextmanager
def lines_named(tasks: dict[int, NewTask]) -> Iterator[None]:
    """Have what the library says of `tasks[1]` say which line of the file that is."""
    numbers = list(tasks)

    def line(match: re.Match[str]) -> str:
        return f"line {numbers[int(match[1])]}"

    try:
        yield
    except InvalidTask as error:
        field = re.sub(r"^tasks\[(\d+)\]\.", lambda match: f"{line(match)}: ", error.field)
        raise type(error)(field, _PLACE.sub(line, error.reason)) from None


@contextmanager
def progress_bar(total: int) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal; nothing elsewhere. What it gives is told how many are done."""
    console = Console(stderr=True)
    columns = (TextColumn("adding"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("", total=total)
        yield lambda done: progress.update(bar, completed=done)


def show_report(report: AddReport, tasks: dict[int, NewTask]) -> None:
    """How many were added, and which were not and why."""
    numbers = list(tasks)
    print(f"{len(report.added):,} added, {len(report.failures):,} failed")
    for failure in report.failures[:_SHOWN]:
        print(plain(f"line {numbers[failure.index]}: {in_options(failure.error)}"), file=sys.stderr)
    if report.failures[_SHOWN:]:
        print(f"and {len(report.failures) - _SHOWN:,} more", file=sys.stderr)


def _task(number: int, line: str, zone: ZoneInfo | None) -> NewTask:
    place = f"line {number}"
    try:
        given = json.loads(line)
    except ValueError as error:
        raise InvalidTask(place, f"is not JSON: {error}") from None
    if not isinstance(given, dict):
        raise InvalidTask(place, "must be an object with the arguments of a task")
    fields = {name: _value(f"{place}: {name}", name, value, zone) for name, value in given.items()}
    if "in" in fields and "due" in fields:
        raise InvalidTask(f"{place}: in", "goes without a due date")
    if "in" in fields:
        fields["due"] = fields.pop("in")
    known = NewTask.__struct_fields__
    if unknown := [name for name in fields if name not in known]:
        raise InvalidTask(f"{place}: {unknown[0]}", f"is not a field of a task; those are {', '.join(known)}")
    if not isinstance(fields.get("action"), str):
        raise InvalidTask(f"{place}: action", "is missing, or is not text")
    return NewTask(**fields)


def _value(place: str, name: str, value: Any, zone: ZoneInfo | None) -> Any:
    if value is None or name not in _TIMES | _DURATIONS:
        return value
    if name in _DURATIONS:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidTask(place, f"must be a number of seconds, not {value!r}")
        try:
            return timedelta(seconds=value)
        except (OverflowError, ValueError):
            raise InvalidTask(place, f"{value} seconds are too many") from None
    try:
        naive = datetime.fromisoformat(value)
        if naive.tzinfo is None and zone is None:
            raise InvalidTask(place, f"{value} has no offset: end it with Z for UTC, or give --timezone")
        return instant_of(naive, zone) if zone and naive.tzinfo is None else parse(value)
    except (TypeError, ValueError):
        raise InvalidTask(place, f"{value!r} is not an ISO-8601 time, such as 2026-12-31T09:00Z") from None
