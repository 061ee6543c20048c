"""Printing tasks: as a table for people, as lines or JSON for programs.

The JSON has the names and values of the HTTP editor's.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from rich.console import RenderableType
from rich.text import Text

from duebell_editor.library.json_fields import task_fields
from duebell_shared.instants import render
from duebell_shared.schedules.zones import zone_of
from duebell_shared.tasks.task import Status, Task

from .context import Context
from .output import console, in_one_line, local, relative, short, when
from .tables import Cell, Grid, block, first_that_fits

__all__ = [
    "FIELDS", "print_change", "print_tasks", "status_text", "tasks_table",
]  # fmt: skip

#: The fields of a line for programs, with a tab between each; a missing value is empty.
FIELDS = ("id", "status", "action", "due", "queued", "attempt", "finished_at", "schedule", "failure")

_STYLES = {
    Status.RUNNING: "cyan",
    Status.PAUSED: "yellow",
    Status.RESERVED: "magenta",
    Status.DONE: "green",
    Status.FAILED: "red",
    Status.CANCELLED: "dim",
    Status.EXPIRED: "yellow",
}

#: A due date that passed longer ago than this is likely a mistake.
_LONG_AGO = timedelta(minutes=5)


class _Detail(NamedTuple):
    """The detail of a table of tasks.

    far   with the time until each task runs
    time  the format of times
    more  with due dates of ended tasks, and the column "next look"
    why   with the last failure of tasks that go on
    """

    far: bool
    time: Callable[[datetime], str]
    more: bool = True
    why: bool = True


#: From most to least detail: the least important is left out first.
_DETAILS = (
    _Detail(far=True, time=local),
    _Detail(far=False, time=local),
    _Detail(far=False, time=short),
    _Detail(far=False, time=short, more=False),
    _Detail(far=False, time=short, more=False, why=False),
)


def print_change(context: Context, task: Task, zone: ZoneInfo | None = None) -> None:
    """Print a task after a change: its due date here, and in `zone` or its schedule's zone; or as JSON."""
    now, out = context.now(), context.out
    is_untried = task.status is Status.SCHEDULED and not task.attempt and not task.snoozes
    if is_untried and task.due < now - _LONG_AGO:
        ago = relative(task.due, now)
        out.warn(f"{task.id}: its due date, {local(task.due)}, was {ago}: it runs at once")
    if out.as_json:
        out.print_json(task_fields(task))
        return
    if zone is None and task.recurrence:
        zone = zone_of(task.recurrence.schedule.timezone)
    due = f"{when(task.due, now)}{_elsewhere(task.due, zone)}"
    line = Text.assemble(task.id, ": ", status_text(task.status), f", {task.action} due {due}")
    console().print(line, soft_wrap=True)


def _elsewhere(instant: datetime, zone: ZoneInfo | None) -> str:
    """The time in this zone, if its offset is not that of the local zone."""
    if zone is None:
        return ""
    try:
        here, there = instant.astimezone(), instant.astimezone(zone)
    except (OverflowError, ValueError, OSError):  # the calendar's first and last hours
        return ""
    return "" if here.utcoffset() == there.utcoffset() else f", {there:%Y-%m-%d %H:%M:%S} in {zone.key}"


def print_tasks(context: Context, tasks: Sequence[Task]) -> None:
    """Print tasks as a table on a terminal, else a line for each; with --json, all of each."""
    out = console()
    if context.out.as_json:
        for task in tasks:
            context.out.print_json(task_fields(task))
    elif not out.is_terminal:
        for task in tasks:
            print(_line(task))
    elif tasks:
        out.print(tasks_table(tasks, context.now(), out.width, encoding=out.encoding))


def _line(task: Task) -> str:
    """FIELDS of the task: times in UTC, nothing cut and nothing padded."""
    instants = (task.due, task.queued, task.finished_at)
    due, queued, finished = ("" if instant is None else render(instant) for instant in instants)
    schedule = task.recurrence.schedule.expression if task.recurrence else ""
    attempt = str(task.attempt)
    fields = (task.id, task.status.value, task.action, due, queued, attempt, finished, schedule, _why(task))
    return "\t".join(fields)


def tasks_table(
    tasks: Sequence[Task], now: datetime, width: int, *, encoding: str = "utf-8"
) -> RenderableType:
    """Tasks in as much detail as fits. Ids are never cut: on narrow terminals they have their own lines."""
    mark = "↻" if encoding.lower().startswith("utf") else "(recurring)"
    layouts = (_grid(tasks, now, mark, detail) for detail in _DETAILS)
    return first_that_fits(
        layouts, width, lambda: (part for task in tasks for part in _block(task, now, mark))
    )


def _grid(tasks: Sequence[Task], now: datetime, mark: str, detail: _Detail) -> Grid:
    def times(instants: Iterable[datetime | None]) -> list[Cell]:
        return ["" if instant is None else detail.time(instant) for instant in instants]

    has_left = all(task.finished_at for task in tasks)
    columns: dict[str, list[Cell]] = {
        "id": [task.id for task in tasks],
        "status": [_state(task, mark) for task in tasks],
        "action": [task.action for task in tasks],
    }
    if detail.more or not has_left:
        columns["due"] = times(task.due for task in tasks)
    if detail.more and any(_is_looked_at_later(task) for task in tasks):
        columns["next look"] = times(task.queued for task in tasks)
    if detail.far and not has_left:
        columns[""] = [_far(task, now) for task in tasks]
    if any(task.finished_at for task in tasks):
        columns["ended"] = times(task.finished_at for task in tasks)
    # The failure of a task that goes on can be left out; for one that has failed, it is what matters.
    has_failures = any(task.failure and (detail.why or task.finished_at) for task in tasks)
    if has_failures:
        columns["error"] = [Text(_why(task), style="red") for task in tasks]
    return Grid(tuple(columns), tuple(zip(*columns.values(), strict=True)), may_be_cut=has_failures)


def _block(task: Task, now: datetime, mark: str) -> Iterator[RenderableType]:
    ended = f"ended {short(task.finished_at)}" if task.finished_at else ""
    time = ended or f"due {short(task.due)} ({_far(task, now)})"
    lines: list[Cell] = [Text.assemble(_state(task, mark), f", {task.action}, {time}")]
    if task.failure:
        lines.append(Text(_why(task), style="red"))
    return block(Text(task.id, style="bold", no_wrap=True, overflow="ignore"), *lines)


def status_text(status: Status) -> Text:
    """A status in its colour."""
    return Text(status.value, style=_STYLES.get(status, ""))


def _state(task: Task, mark: str) -> Text:
    state = status_text(task.status)
    if task.owes:
        state.append(" (owes a follow-up)")
    elif task.attempt and not task.status.is_finished:
        state.append(f" (attempt {task.attempt})")
    return state.append(f" {mark}") if task.recurrence else state


def _far(task: Task, now: datetime) -> str:
    """The time until the task runs; empty if it has ended."""
    return "" if task.finished_at else relative(task.queued or task.due, now)


def _is_looked_at_later(task: Task) -> bool:
    """Tell whether the task does not run when it is due: it is retried or spread, or was added late."""
    return task.queued is not None and abs(task.queued - task.due).total_seconds() >= 1


def _why(task: Task) -> str:
    """The failure of the task, in one line without tabs."""
    return in_one_line(str(task.failure)) if task.failure else ""
