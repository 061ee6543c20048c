"""The commands `list`, `failures` and `changes`, and printing tasks."""

import shlex
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Any

import typer
from rich.text import Text

from duebell_editor.library.json_fields import plain_values, task_fields
from duebell_editor.listing.failures import MOST_READ, FailureGroup
from duebell_editor.listing.filters import MAX_LIMIT
from duebell_shared.tasks.task import Task

from .context import Context, flag, option
from .errors import WrongUsage
from .options import Timezone, filters_from, with_filters
from .output import console, count_of, in_one_line, plain, relative, short, when
from .program import examples

#: Characters of an error in a list on a terminal.
_MOST = 60


def print_change(context: Context, task: Task) -> None:
    """Print a task after a change, in a line or as JSON."""
    if context.out.as_json:
        context.answer(task_fields(task))
        return
    due = when(task.due, context.now())
    print(plain(f"{task.id}: {task.status}, {task.action} due {due}"))


def print_tasks(context: Context, tasks: Sequence[Task]) -> None:
    """Print tasks as a table, a row each; with --json, all fields of each."""
    if context.out.as_json:
        for task in tasks:
            context.answer(task_fields(task))
    else:
        context.answer([_row(task, context.now()) for task in tasks])


def _row(task: Task, now: datetime) -> dict[str, Any]:
    """The fields of a task that a list shows. A terminal shows the beginning of its error."""
    at = task.finished_at or task.queued or task.due
    error = in_one_line(str(task.failure)) if task.failure else ""
    notes = {
        f"attempt {task.attempt}": task.attempt and not task.finished_at,
        "owes a follow-up": task.owes,
        "recurs": task.recurrence,
    }
    return {
        "id": task.id,
        "status": ", ".join([task.status, *(note for note, applies in notes.items() if applies)]),
        "action": task.action,
        "at": short(at) if task.finished_at else f"{short(at)} ({relative(at, now)})",
        "error": f"{error[:_MOST]}…" if error[_MOST:] and console().is_terminal else error,
    }


app = typer.Typer()

_OUTPUT = """\
It prints a table, with the time of the next run or of the end, and the beginning of each error. In a pipe,
nothing is cut. --json prints all fields of a task, a task to a line.

If there are more tasks, the last line on standard error says how to go on: with --json as {"cursor": "…"}.
--all reads all pages.
"""


@app.command(
    "list",
    epilog=examples(
        "list --status failed --after 2026-12-01 --timezone Europe/Berlin",
        "list --action put_on_sale --all --json | jq -r .id",
        more=_OUTPUT,
    ),
)
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
    while every and page.cursor:
        sys.stdout.flush()
        page = find(limit=limit, cursor=page.cursor)
        if page.tasks:
            print_tasks(context, page.tasks)
    if page.cursor:
        out.note(f"there is more: repeat with --cursor {page.cursor}", {"cursor": page.cursor})


@app.command(epilog=examples("failures", "retry --status failed --action charge --error TimeoutError"))
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
        context.answer([])
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
        dashes = ["--"] if any(id.startswith("-") for id in group.failing) else []
        yield shlex.join([*program, "run-now", *dashes, *group.failing])
