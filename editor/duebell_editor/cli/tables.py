"""Tasks one below the other: as a table that fits for people, as lines for programs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from duebell_shared.instants import render
from duebell_shared.task import Task

from .grid import Cell, Grid, first_that_fits
from .terminal import recurring_mark, status_text
from .text import local, plain, relative, short

__all__ = ["FIELDS", "tasks_lines", "tasks_table"]

#: What a line for programs holds, with a tab between each; what there is none of is empty.
FIELDS = ("id", "status", "action", "due", "queued", "attempt", "finished_at", "schedule", "failure")


class _Detail(NamedTuple):
    """How much is told of each task: how far away its time is, its time how exactly, and what else."""

    far: bool
    time: Callable[[datetime], str]
    more: bool = True
    why: bool = True


#: What is left out first says the least.
_DETAILS = (
    _Detail(far=True, time=local),
    _Detail(far=False, time=local),
    _Detail(far=False, time=short),
    _Detail(far=False, time=short, more=False),
    _Detail(far=False, time=short, more=False, why=False),
)


def tasks_lines(tasks: Iterable[Task]) -> Iterator[str]:
    """A line for each task, of FIELDS: times in UTC, nothing cut and nothing padded."""
    for task in tasks:
        fields = (
            task.id,
            task.status.value,
            task.action,
            _iso(task.due),
            _iso(task.queued),
            str(task.attempt),
            _iso(task.finished_at),
            task.recurrence.schedule.expression if task.recurrence else "",
            _failure(task),
        )
        yield "\t".join(fields)


def tasks_table(
    tasks: Sequence[Task], now: datetime, width: int, *, encoding: str = "utf-8"
) -> RenderableType:
    """Tasks in as much detail as fits. Ids are never cut or folded: on narrow terminals they stand alone."""
    layouts = [partial(_grid, tasks, now, recurring_mark(encoding), detail) for detail in _DETAILS]
    return first_that_fits(layouts, width, lambda: _blocks(tasks, now, recurring_mark(encoding)))


def _grid(tasks: Sequence[Task], now: datetime, mark: str, detail: _Detail) -> Grid:
    has_left = all(task.finished_at for task in tasks)
    columns: dict[str, list[Cell]] = {
        "id": [Text(task.id) for task in tasks],
        "status": [_state(task, mark) for task in tasks],
        "action": [Text(task.action) for task in tasks],
    }
    if detail.more or not has_left:
        columns["due"] = [detail.time(task.due) for task in tasks]
    if detail.more and any(_is_looked_at_later(task) for task in tasks):
        columns["next look"] = [detail.time(task.queued) if task.queued else "" for task in tasks]
    if detail.far and not has_left:
        columns[""] = [_far(task, now) for task in tasks]
    if any(task.finished_at for task in tasks):
        columns["ended"] = [detail.time(task.finished_at) if task.finished_at else "" for task in tasks]
    # Of a task that goes on, why it failed last can be left out; of one that has failed, it is what matters.
    why = [task for task in tasks if task.failure and (detail.why or task.finished_at)]
    if has_failures := bool(why):
        columns["error"] = [Text(_failure(task), style="red") for task in tasks]
    return Grid(tuple(columns), tuple(zip(*columns.values(), strict=True)), may_be_cut=has_failures)


def _blocks(tasks: Iterable[Task], now: datetime, mark: str) -> Iterator[RenderableType]:
    for task in tasks:
        yield Text(task.id, style="bold", no_wrap=True, overflow="ignore")
        when = f"ended {short(task.finished_at)}" if task.finished_at else f"due {short(task.due)}"
        far = f" ({_far(task, now)})" if not task.finished_at else ""
        yield Padding(
            Text.assemble(_state(task, mark), f", {task.action}, {when}{far}"), (0, 0, 0, 2), expand=False
        )
        if task.failure:
            yield Padding(Text(_failure(task), style="red"), (0, 0, 0, 2), expand=False)


def _state(task: Task, mark: str) -> Text:
    state = status_text(task.status)
    if task.attempt and not task.status.is_finished:
        state.append(f" (attempt {task.attempt})")
    return state.append(f" {mark}") if task.recurrence else state


def _far(task: Task, now: datetime) -> str:
    """How far away it is that something happens to it."""
    return "" if task.finished_at else relative(task.queued or task.due, now)


def _is_looked_at_later(task: Task) -> bool:
    """Whether it is retried or spread, or was added late: not looked at when it is due."""
    return task.queued is not None and abs(task.queued - task.due).total_seconds() >= 1


def _failure(task: Task) -> str:
    """Why it failed, in one line without tabs."""
    return plain(" ".join(str(task.failure).split())) if task.failure else ""


def _iso(instant: datetime | None) -> str:
    return "" if instant is None else render(instant)
