"""What the commands print: tables for people, JSON for programs.

The JSON is ASCII, one document to a line, with the names and values of the HTTP editor's.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
from rich.table import Table
from rich.text import Text

from duebell_editor import LastRun, LateRing, Missed, Problem, Recurrence, Schedule, SchedulerStatus
from duebell_shared.instants import render
from duebell_shared.task import Status, Task
from duebell_shared.zones import zone_of

from ..status import MOST_COUNTED
from .past import attempts_table, occurrences_table, times_table
from .saying import warn
from .tables import tasks_lines, tasks_table
from .terminal import console, status_text
from .text import local, plain, relative, when, without_code

__all__ = [
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
]

_MISSED = {
    Missed.ONCE: "are made up for once",
    Missed.ALL: "are made up for, each",
    Missed.SKIP: "are skipped",
}

#: A due date that passed longer ago than this was most likely not meant.
_LONG_AGO = timedelta(minutes=5)

#: A ring that was lost is shown for so long.
_RECENT = timedelta(days=7)


def task_json(task: Task) -> dict[str, Any]:
    """A task as JSON's own types, but for its times; durations are in seconds."""
    fields: dict[str, Any] = msgspec.to_builtins(task, builtin_types=(datetime,))
    del fields["payload_json"], fields["begun"]  # the one is shown as a value, the other is the worker's own
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


def print_change(task: Task, now: datetime, *, as_json: bool, zone: ZoneInfo | None = None) -> None:
    """What a task is now: in one line for people, in the zone that they gave as well; or all of it."""
    if task.status is Status.SCHEDULED and task.due < now - _LONG_AGO and not task.attempt:
        warn(f"{task.id}: its due date, {local(task.due)}, was {relative(task.due, now)}: it runs at once")
    if as_json:
        print_json(task_json(task))
        return
    due = f"{when(task.due, now)}{_elsewhere(task.due, zone or _zone_of(task))}"
    line = Text.assemble(task.id, ": ", status_text(task.status), f", {task.action} due {due}")
    console().print(line, soft_wrap=True)


def _zone_of(task: Task) -> ZoneInfo | None:
    return zone_of(task.recurrence.schedule.timezone) if task.recurrence else None


def _elsewhere(instant: datetime, zone: ZoneInfo | None) -> str:
    """What clocks show in this zone, if it is not what they show here."""
    if zone is None:
        return ""
    try:
        here, there = instant.astimezone(), instant.astimezone(zone)
    except (OverflowError, ValueError, OSError):  # the calendar's first and last hours
        return ""
    return "" if here.utcoffset() == there.utcoffset() else f", {there:%Y-%m-%d %H:%M:%S} in {zone.key}"


def show_tasks(tasks: Sequence[Task], now: datetime) -> None:
    """Tasks as a table for people, and as lines when nobody looks."""
    out = console()
    if out.is_terminal:
        out.print(tasks_table(tasks, now, out.width, encoding=out.encoding))
    else:
        for line in tasks_lines(tasks):
            print(line)


def show_preview(schedule: Schedule, occurrences: Iterable[datetime], now: datetime) -> None:
    """A schedule in words, and its next times, as clocks show them in its time zone and here."""
    out = console()
    out.print(Text(schedule.describe(), style="bold"))
    out.print(times_table(occurrences, schedule.timezone, now, out.width))


def show_task(task: Task, now: datetime) -> None:
    """All there is to know of a task."""
    rows: dict[str, str | Text] = {
        "id": Text(task.id),
        "action": Text(task.action),
        "status": status_text(task.status),
        "due": when(task.due, now),
        "next look": when(task.queued, now),
        "attempt": str(task.attempt),
        "created": when(task.created_at, now),
        "changed by": Text(plain(task.changed_by or "-")),
        "started": when(task.started_at, now),
        "finished": when(task.finished_at, now),
        "lateness": "-" if task.lateness_ms is None else f"{task.lateness_ms / 1000:,.3f} s",
        "run": task.run or "-",
        "forgotten": when(task.expires_at, now),
        "payload": Text(
            plain(json.dumps(task.payload, ensure_ascii=False, indent=2))
            if task.payload_dropped is None
            else f"not kept: it was {task.payload_dropped:,} bytes, and the task is done"
        ),
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
    out = console()
    out.print(_facts(rows))
    if task.failures:
        out.print("", attempts_table(task.failures, out.width), sep="\n")
    if task.occurrences:
        out.print("", occurrences_table(task.occurrences, out.width), sep="\n")


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
        **_late_ring(status.late_ring, now),
        "failed": _tasks(status.failed),
        "overdue": _tasks(status.overdue),
        "running": f"{status.running} of {status.lanes} lanes",
        "precision": f"to the {status.precision}",
        "time zones": _tzdata(status),
    }
    for number, problem in enumerate(status.problems, start=1):
        rows[f"problem {number}"] = Text(without_code(plain(str(problem))), style="red")
    return _facts(rows)


def _tzdata(status: SchedulerStatus) -> str:
    """The release of the time zones; the worker's too, if it has another."""
    theirs = status.last_run.tzdata if status.last_run else None
    differs = theirs not in {None, status.tzdata}
    return f"tzdata {status.tzdata}" + (f", and {theirs} in the worker" if differs else "")


def _tasks(count: int | None) -> Text:
    """So many tasks; the most that are counted mean at least so many."""
    if not count:
        return Text("unknown" if count is None else "none")
    return Text(
        "1 task" if count == 1 else f"{count:,} tasks{' or more' * (count == MOST_COUNTED)}", style="red"
    )


def _late_ring(ring: LateRing | None, now: datetime) -> dict[str, str | Text]:
    """A ring that was lost, as long as someone may want to know why."""
    if ring is None or ring.came_at < now - _RECENT:
        return {}
    came = f"rung for at {when(ring.minute, now)}; a run came at {when(ring.came_at, now)}, by an echo"
    return {"late ring": Text(came)}


def _last_run(run: LastRun, now: datetime) -> Text:
    late = "" if run.lateness_max_ms is None else f", {run.lateness_max_ms / 1000:.1f} s late at most"
    return Text(f"{when(run.finished_at, now)}: {run.done} done, {run.failed} failed{late}")


def show_diagnosis(status: SchedulerStatus, mended: Iterable[Problem] = ()) -> None:
    """What was mended, and what is wrong, each with the way out."""
    out = console()
    for problem in mended:
        out.print(Text(f"mended: {without_code(plain(problem.what))}", style="green"))
    if status.healthy:
        out.print(Text("healthy: nothing is wrong", style="green"))
    for problem in status.problems:
        can_be_mended = " (--fix does)" if problem.mendable else ""
        out.print(Text(plain(problem.what), style="red"))
        out.print(Text(f"  {without_code(plain(problem.way_out))}{can_be_mended}"))


def _recurrence(recurrence: Recurrence, now: datetime) -> dict[str, str | Text]:
    limit = f" of {recurrence.max_runs}" if recurrence.max_runs else ""
    failures = recurrence.consecutive_failures
    before = f"; {recurrence.missed_runs:,} before this one" if recurrence.missed_runs else ""
    return {
        "schedule": Text(f"{recurrence.schedule.describe()}  {recurrence.schedule.expression}"),
        "after this": when(recurrence.next_due, now),
        "missed ones": _MISSED[recurrence.missed] + before,
        "runs": f"{recurrence.runs}{limit}" + (f", the last {failures} failed" if failures else ""),
        "waiting aside": str(len(recurrence.aside)),
    }


def _facts(rows: Mapping[str, str | Text]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows.items():
        grid.add_row(name, value)
    return grid
