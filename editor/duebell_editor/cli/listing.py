"""`duebell list`: the tasks that a filter finds, a page or all of them."""

import json
import sys
from collections.abc import Iterator
from typing import Annotated

import typer
from msgspec.structs import replace

from ..editor import Editor
from ..filtering import Filter
from ..listing import Page, list_tasks, search
from ..places import place_from
from . import at
from .complaining import wants_json
from .given import zone_from
from .options import Action, After, Before, Prefix, StatusOption, Timezone
from .output import print_json, show_tasks, task_json
from .saying import is_watched
from .terminal import console
from .text import local
from .which import filter_from

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)

#: A page of --all. Every page of history reads all of it, so these are large.
_PAGE, _PAGE_OF_HISTORY = 200, 10_000

_EPILOG = """\b
Examples:
  duebell list --status failed --after 2026-12-01 --timezone Europe/Berlin
  duebell list --action put_on_sale --all | cut -f1

On a terminal it is a table; ↻ marks what recurs. In a pipe it is a line for each task, with a tab between
id, status, action, due date, next look, attempt, end, schedule and error; --json gives all of a task.

A page ends early when a rare task is looked for in a long queue. When there is more, the last line on
standard error says how to go on: with --json as {"cursor": "…"}. --all goes on to the end by itself.
"""


@app.command("list", epilog=_EPILOG)
def list_(
    *,
    status: StatusOption = None,
    action: Action = None,
    prefix: Prefix = "",
    after: After = None,
    before: Before = None,
    timezone: Timezone = None,
    latest_first: Annotated[
        bool,
        typer.Option("--latest-first", help="The latest first, not the earliest."),
    ] = False,
    limit: Annotated[int | None, typer.Option(metavar="N", help="At most so many, 1 to 1000. [100]")] = None,
    cursor: Annotated[
        str | None, typer.Option(metavar="CURSOR", help="The last listing's, to go on.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All there are, page after page.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for programs, one task to a line.")] = False,
) -> None:
    """List tasks by time: those in the queue by when they are due, others by when they ended.

    What is in the queue, scheduled and running, unless a status is asked for.
    """
    if every and limit is not None:
        raise typer.BadParameter("give --all or --limit, not both")
    which = filter_from(
        status=status, action=action, prefix=prefix, after=after, before=before, zone=zone_from(timezone),
        limit=100 if limit is None else limit, cursor=cursor, latest_first=latest_first,
    )  # fmt: skip
    editor = at.editor()
    shown = 0
    page = Page(tasks=())
    for page in _all_pages(editor, which) if every else [_page(editor, which)]:
        shown += len(page.tasks)
        _show(page, as_json=as_json)
    if not shown and not as_json and page.cursor is None:
        print("no tasks", file=sys.stdout if console().is_terminal else sys.stderr)
    if page.cursor:
        _tell(page.cursor)


def _show(page: Page, *, as_json: bool) -> None:
    if as_json:
        for task in page.tasks:
            print_json(task_json(task))
    elif page.tasks:
        show_tasks(page.tasks, at.now())
    sys.stdout.flush()


def _tell(cursor: str) -> None:
    """How to go on, as the last line on standard error."""
    if wants_json(sys.argv[1:]):
        print(json.dumps({"cursor": cursor}), file=sys.stderr)
    else:
        print(f"there is more: repeat with --cursor {cursor}", file=sys.stderr)


def _page(editor: Editor, which: Filter) -> Page:
    """As many as are asked for. What is rare is looked for as long as somebody can see how far it is."""
    page = search(editor.queue, which)
    tasks = page.tasks
    while page.cursor and len(tasks) < which.limit and is_watched():
        reached = local(place_from(page.cursor).at)
        print(f"looked as far as {reached} so far; {len(tasks)} found", file=sys.stderr)
        page = search(editor.queue, replace(which, limit=which.limit - len(tasks)).following(page.cursor))
        tasks += page.tasks
    return replace(page, tasks=tasks)


def _all_pages(editor: Editor, which: Filter) -> Iterator[Page]:
    which = replace(which, limit=_PAGE)
    while True:
        page = list_tasks(editor.queue, which)
        yield page
        if page.cursor is None:
            return
        which = which.following(page.cursor)
