"""The commands `list` and `failures`, and printing tasks: a table for people, lines or JSON for programs."""

import shlex
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer
from rich.table import Table
from rich.text import Text

from duebell_editor.library.json_fields import plain_values, task_fields
from duebell_editor.listing.failures import MOST_READ, FailureGroup
from duebell_editor.listing.filters import MAX_LIMIT
from duebell_shared.instants import render
from duebell_shared.schedules.zones import zone_of
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import Task

from .context import Context, flag, option
from .errors import WrongUsage
from .options import Timezone, filters_from, with_filters
from .output import (
    Cell,
    console,
    count_of,
    in_one_line,
    local,
    relative,
    short,
    table,
    when,
)
from .program import examples, with_json

_STYLES = {
    Status.RUNNING: "cyan",
    Status.PAUSED: "yellow",
    Status.RESERVED: "magenta",
    Status.BLOCKED: "magenta",
    Status.DONE: "green",
    Status.FAILED: "red",
    Status.CANCELLED: "dim",
    Status.EXPIRED: "yellow",
}

#: A due date that passed longer ago than this is likely a mistake.
_LONG_AGO = timedelta(minutes=5)


def print_change(context: Context, task: Task, zone: ZoneInfo | None = None) -> None:
    """Print a task after a change: its due date here, and in `zone` or its schedule's zone; or as JSON."""
    now, out = context.now(), context.out
    is_at_once = not task.attempt and task.queued is not None and task.queued <= now
    if is_at_once and task.due < now - _LONG_AGO:
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
    here, there = instant.astimezone(), instant.astimezone(zone)
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
        out.print(tasks_table(tasks, context.now(), width=out.width, encoding=out.encoding))


def _line(task: Task) -> str:
    """The task for programs, with tabs between the fields: times in UTC, nothing cut and nothing padded."""
    instants = (task.due, task.queued, task.finished_at)
    due, queued, finished = ("" if instant is None else render(instant) for instant in instants)
    schedule = task.recurrence.schedule.expression if task.recurrence else ""
    attempt = str(task.attempt)
    fields = (task.id, task.status.value, task.action, due, queued, attempt, finished, schedule, _why(task))
    return "\t".join(map(in_one_line, fields))


def tasks_table(tasks: Sequence[Task], now: datetime, *, width: int, encoding: str = "utf-8") -> Table:
    """Tasks as a table, with the columns that say something of one of them. Long errors are cut."""
    mark = "↻" if encoding.lower().startswith("utf") else "(recurring)"
    most = max(40, width - 80)  # on a narrow screen, three lines of the last column
    errors = [why if len(why) <= most else f"{why[:most]}…" for why in map(_why, tasks)]
    columns: dict[str, list[Cell]] = {
        "id": [task.id for task in tasks],
        "status": [_state(task, mark) for task in tasks],
        "action": [task.action for task in tasks],
        "due": [short(task.due) for task in tasks],
        "next look": [_next_look(task) for task in tasks],
        "": [_far(task, now) for task in tasks],
        "ended": [short(task.finished_at) if task.finished_at else "" for task in tasks],
        "error": [Text(error, style="red") for error in errors],
    }
    columns = {name: cells for name, cells in columns.items() if any(cells)}
    return table(tuple(columns), zip(*columns.values(), strict=True))


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


def _next_look(task: Task) -> str:
    """The time that the task runs at, if that is not its due date, as after a failure or by its spread."""
    is_other = task.queued is not None and abs(task.queued - task.due).total_seconds() >= 1
    return short(task.queued) if task.queued and is_other else ""


def _why(task: Task) -> str:
    """The failure of the task, in one line without tabs."""
    return in_one_line(str(task.failure)) if task.failure else ""


app = typer.Typer()

_OUTPUT = """\
On a terminal it prints a table; ↻ marks recurring tasks, and long errors are cut. In a pipe it prints a line
for each task, with tabs between id, status, action, due date, next look, attempt, end, schedule and error.
--json prints all fields.

If there are more tasks, the last line on standard error says how to go on: with --json as {"cursor": "…"}.
--all reads all pages.
"""


@app.command(
    "list",
    epilog=examples(
        "list --status failed --after 2026-12-01 --timezone Europe/Berlin",
        "list --action put_on_sale --all | cut -f1",
        more=_OUTPUT,
    ),
)
@with_json("JSON for programs, one task to a line.")
@with_filters()
def list_(
    context: Context,
    *,
    timezone: Timezone = None,
    latest_first: Annotated[bool, flag("--latest-first", "The latest first, not the earliest.")] = False,
    limit: Annotated[
        int | None, option("--limit", "N", f"At most this many, 1 to {MAX_LIMIT}. [100]")
    ] = None,
    cursor: Annotated[
        str | None, option("--cursor", "CURSOR", "Go on after the last listing: the cursor that it printed.")
    ] = None,
    every: Annotated[bool, flag("--all", "Every page.")] = False,
    **given: Any,
) -> None:
    """Without --status, it lists the tasks in the queue: scheduled, running and reserved ones.

    The queue is sorted by when tasks run next, paused tasks by their due dates, ended tasks by their ends.
    """
    if every and limit is not None:
        raise WrongUsage("give --all or --limit, not both")
    find = partial(context.editor().list, latest_first=latest_first, **filters_from(given))
    out = context.out
    if every:
        limit = MAX_LIMIT
    elif limit is None:
        limit = 100
    page = find(limit=limit, cursor=cursor)
    print_tasks(context, page.tasks)
    if not page.tasks and not out.as_json:
        print("no tasks", file=sys.stdout if console().is_terminal else sys.stderr)
    while every and page.cursor:
        sys.stdout.flush()
        page = find(limit=limit, cursor=page.cursor)
        print_tasks(context, page.tasks)
    if page.cursor:
        out.note(f"there is more: repeat with --cursor {page.cursor}", {"cursor": page.cursor})


@app.command(epilog=examples("failures", "retry --status failed --action charge --error TimeoutError"))
@with_json()
def failures(context: Context) -> None:
    """Each group has the command that runs it again.

    Recurring tasks whose last occurrence failed count, too. It reads the latest
    failed tasks, and says if there are more.
    """
    found, out = context.editor().failures(), console()
    if context.out.as_json:
        context.answer(plain_values(found))
        return
    if not found.groups:
        print("no failed tasks", file=sys.stdout if out.is_terminal else sys.stderr)
    for group in found.groups:
        count = count_of(group.failed + len(group.failing))
        title = f"{count} of {group.action}: {group.error or 'no error'}"
        out.print(Text(title, style="bold"), soft_wrap=True)
        last = f"last {when(group.last_at, context.now())}"
        for line in filter(None, [in_one_line(group.message), last, *_commands(group, context.out.program)]):
            out.print(Text(f"  {line}"), soft_wrap=True)
    if not found.is_all:
        context.out.note(f"more tasks have failed: these are the {MOST_READ} latest")


@app.command(epilog=examples("changes", "changes --id sale-42 --json"))
@with_json("JSON for programs, one change to a line.")
def changes(
    context: Context,
    *,
    id: Annotated[str | None, option("--id", "ID", "Only those of this task.")] = None,
    limit: Annotated[int, option("--limit", "N", f"At most this many, 1 to {MAX_LIMIT}.")] = 100,
    cursor: Annotated[
        str | None, option("--cursor", "CURSOR", "Go on after the last listing: the cursor that it printed.")
    ] = None,
) -> None:
    """It lists who changed what, when and from where, the latest first."""
    page = context.editor().changes(id=id, limit=limit, cursor=cursor)
    found = plain_values(page.changes)
    if context.out.as_json:
        for change in found:
            context.answer(change)
    else:
        context.answer(found)
    if page.cursor:
        context.out.note(
            f"there is more: repeat with --cursor {shlex.quote(page.cursor)}", {"cursor": page.cursor}
        )


def _commands(group: FailureGroup, program: Sequence[str]) -> Iterator[str]:
    """The commands that run the group's tasks again."""
    if group.failed:
        error = ["--error", group.error] if group.error else []
        yield shlex.join([*program, "retry", "--status", "failed", "--action", group.action, *error])
    if group.failing:
        yield shlex.join([*program, "run-now", *group.failing])
