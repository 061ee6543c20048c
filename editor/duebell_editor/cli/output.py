"""What the commands print: tables for people, JSON for programs.

The JSON is ASCII, one document to a line, with the names and values of the HTTP editor's.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from duebell_editor import FailedAttempt, LastRun, Missed, Occurrence, Recurrence, Schedule, SchedulerStatus
from duebell_shared.instants import render
from duebell_shared.task import Status, Task

from .text import local, plain, relative, when

__all__ = [
    "console",
    "print_change",
    "print_json",
    "show_diagnosis",
    "show_preview",
    "show_status",
    "show_task",
    "show_tasks",
    "status_facts",
    "status_json",
    "task_json",
    "tasks_table",
]

_STYLES = {
    Status.RUNNING: "cyan",
    Status.PAUSED: "yellow",
    Status.DONE: "green",
    Status.FAILED: "red",
    Status.CANCELLED: "dim",
    Status.EXPIRED: "yellow",
}

_MISSED = {
    Missed.ONCE: "are made up for once",
    Missed.ALL: "are made up for, each",
    Missed.SKIP: "are skipped",
}

#: When nobody looks, a line is as long as it is: what is cut or wrapped cannot be searched or copied.
_UNLIMITED = 100_000


def task_json(task: Task) -> dict[str, Any]:
    """A task as JSON's own types, but for its times; durations are in seconds."""
    fields: dict[str, Any] = msgspec.to_builtins(task, builtin_types=(datetime,))
    del fields["payload_json"]
    durations = {
        "spread": task.spread.total_seconds(),
        "expires_after": task.expires_after.total_seconds() if task.expires_after else None,
    }
    return {**fields, **durations, "payload": task.payload}


def status_json(status: SchedulerStatus) -> dict[str, Any]:
    """The scheduler's status as JSON's own types, but for its times."""
    fields: dict[str, Any] = msgspec.to_builtins(status, builtin_types=(datetime,))
    return {**fields, "healthy": status.healthy}


def print_json(document: Mapping[str, Any]) -> None:
    """One JSON document on one line."""
    print(json.dumps(document, default=render))


def print_change(task: Task, now: datetime, *, as_json: bool) -> None:
    """What a task is now: in one line for people, or all of it."""
    if as_json:
        print_json(task_json(task))
        return
    line = Text.assemble(task.id, ": ", _status(task.status), f", {task.action} due {when(task.due, now)}")
    console().print(line, soft_wrap=True)


def show_tasks(tasks: Iterable[Task], now: datetime) -> None:
    """Tasks as a table, or that there are none."""
    table = tasks_table(tasks, now)
    console().print(table if table.row_count else "no tasks")


def tasks_table(tasks: Iterable[Task], now: datetime) -> Table:
    """Tasks as a table, their times in the local zone."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("due", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("id", overflow="fold")
    table.add_column("action", overflow="fold")
    table.add_column("status", no_wrap=True)
    for task in tasks:
        status = _status(task.status)
        if task.attempt:
            status.append(f" (attempt {task.attempt})")
        table.add_row(local(task.due), relative(task.due, now), Text(task.id), Text(task.action), status)
    return table


def show_preview(schedule: Schedule, occurrences: Iterable[datetime], now: datetime) -> None:
    """A schedule in words, and its next times, as clocks show them in its time zone and here."""
    out = console()
    out.print(Text(schedule.describe(), style="bold"))
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(schedule.timezone, no_wrap=True)
    table.add_column("here", no_wrap=True)
    table.add_column("", no_wrap=True)
    for instant in occurrences:
        there = instant.astimezone(ZoneInfo(schedule.timezone))
        table.add_row(f"{there:%a %Y-%m-%d %H:%M:%S %z}", local(instant), relative(instant, now))
    out.print(table)


def show_task(task: Task, now: datetime) -> None:
    """All there is to know of a task."""
    rows: dict[str, str | Text] = {
        "id": Text(task.id),
        "action": Text(task.action),
        "status": _status(task.status),
        "due": when(task.due, now),
        "next look": when(task.queued, now),
        "attempt": str(task.attempt),
        "created": when(task.created_at, now),
        "started": when(task.started_at, now),
        "finished": when(task.finished_at, now),
        "lateness": "-" if task.lateness_ms is None else f"{task.lateness_ms / 1000:,.3f} s",
        "run": task.run or "-",
        "forgotten": when(task.expires_at, now),
        "payload": Text(plain(json.dumps(task.payload, ensure_ascii=False, indent=2))),
    }
    if task.spread:
        rows["spread"] = f"up to {task.spread}"
    if task.expires_after is not None:
        rows["expires"] = f"when {task.expires_after} late"
    if task.recurrence:
        rows.update(_recurrence(task.recurrence, now))
    if task.failure:
        rows["failure"] = Text(plain(f"{task.failure.type}: {task.failure.message}"), style="red")
        if task.failure.traceback:
            rows["traceback"] = Text(plain(task.failure.traceback.rstrip()))
    console().print(_facts(rows))
    if task.failures:
        console().print(_failures(task.failures))
    if task.occurrences:
        console().print(_history(task.occurrences))


def show_status(status: SchedulerStatus, now: datetime) -> None:
    """How the scheduler stands, and what is wrong with it."""
    console().print(status_facts(status, now))


def status_facts(status: SchedulerStatus, now: datetime) -> Table:
    """How the scheduler stands, as facts one below the other."""
    health = Text("healthy", style="green") if status.healthy else Text("needs attention", style="red")
    rows: dict[str, str | Text] = {
        "status": health,
        "rule": Text(f"{status.rule}{'' if status.enabled else ' (disabled)'}"),
        "rings": when(status.rings_at, now) if status.rings_at else "parked",
        "expression": Text(status.expression or "-"),
        "armed": "yes" if status.armed else "no",
        "table": Text(status.table),
        "next due": when(status.next_due, now) if status.next_due else "nothing",
        "last run": _last_run(status.last_run, now) if status.last_run else "none yet",
        "running": f"{status.running} of {status.lanes} lanes",
        "precision": f"to the {status.precision}",
    }
    for number, problem in enumerate(status.problems, start=1):
        rows[f"problem {number}"] = Text(plain(str(problem)), style="red")
    return _facts(rows)


def _last_run(run: LastRun, now: datetime) -> Text:
    late = "" if run.lateness_max_ms is None else f", {run.lateness_max_ms / 1000:.1f} s late at most"
    return Text(f"{when(run.finished_at, now)}: {run.done} done, {run.failed} failed{late}")


def show_diagnosis(status: SchedulerStatus) -> None:
    """What is wrong, each with the way out."""
    out = console()
    if status.healthy:
        out.print(Text("healthy: nothing is wrong", style="green"))
    for problem in status.problems:
        out.print(Text(plain(problem.what), style="red"))
        out.print(Text(f"  {plain(problem.way_out)}{' (--fix does)' if problem.mendable else ''}"))


def _recurrence(recurrence: Recurrence, now: datetime) -> dict[str, str | Text]:
    limit = f" of {recurrence.max_runs}" if recurrence.max_runs else ""
    failures = recurrence.consecutive_failures
    before = f"; {recurrence.missed_runs} before this one" if recurrence.missed_runs else ""
    return {
        "schedule": Text(f"{recurrence.schedule.describe()}  {recurrence.schedule.expression}"),
        "after this": when(recurrence.next_due, now),
        "missed ones": _MISSED[recurrence.missed] + before,
        "runs": f"{recurrence.runs}{limit}" + (f", the last {failures} failed" if failures else ""),
        "waiting aside": str(len(recurrence.aside)),
    }


def _failures(attempts: Iterable[FailedAttempt]) -> Table:
    """The attempts that failed, the latest first."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in ("failed attempt", "due", "started", "ended"):
        table.add_column(column, no_wrap=True)
    table.add_column("failure", overflow="fold")
    for one in reversed([*attempts]):
        started, finished = (local(at) if at else "-" for at in (one.started_at, one.finished_at))
        failure = Text(plain(f"{one.type}: {one.message}"))
        table.add_row(str(one.attempt), local(one.due), started, finished, failure)
    return table


def _history(occurrences: Iterable[Occurrence]) -> Table:
    """The occurrences that are over, the latest first."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in ("due", "result", "attempts", "late", "missed"):
        table.add_column(column, no_wrap=True)
    table.add_column("failure", overflow="fold")
    for one in reversed([*occurrences]):
        late = "-" if one.lateness_ms is None else f"{one.lateness_ms / 1000:,.1f} s"
        result = f"{one.result}{' (extra)' if one.extra else ''}"
        row = (local(one.due), result, str(one.attempts), late, str(one.missed or ""))
        table.add_row(*row, Text(plain(one.failure or "")))
    return table


def console() -> Console:
    """A console that takes no text for markup, and has colour on a terminal only."""
    made = Console(markup=False, highlight=False, emoji=False)
    if not made.is_terminal:
        made.width = _UNLIMITED
    return made


def _facts(rows: Mapping[str, str | Text]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows.items():
        grid.add_row(name, value)
    return grid


def _status(status: Status) -> Text:
    return Text(status.value, style=_STYLES.get(status, ""))
