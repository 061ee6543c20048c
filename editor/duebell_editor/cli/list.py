"""`duebell list`: the tasks that a filter finds, a page or all of them."""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any

import typer

from duebell_editor import Page
from duebell_editor.listing.filters import MAX_LIMIT
from duebell_editor.listing.listing import QUICKLY
from duebell_editor.listing.places import place_from

from .context import Context
from .errors import WrongUsage
from .options import Timezone, filters_from, flag, option, with_filters
from .output import Output, console, local
from .program import with_json
from .tasks import print_tasks

__all__ = ["app"]

app = typer.Typer()

_EPILOG = """\b
Examples:
  duebell list --status failed --after 2026-12-01 --timezone Europe/Berlin
  duebell list --action put_on_sale --all | cut -f1

On a terminal it is a table; ↻ marks what recurs. In a pipe it is a line for each task, with a tab between
id, status, action, due date, next look, attempt, end, schedule and error; --json gives all of a task.

A page ends early when matches are rare in a long queue. When there is more, the last line on standard error
says how to go on: with --json as {"cursor": "…"}. --all goes on to the end by itself.
"""


@app.command("list", epilog=_EPILOG)
@with_json("JSON for programs, one task to a line.")
@with_filters()
def list_(
    context: Context,
    *,
    timezone: Timezone = None,
    latest_first: Annotated[bool, flag("--latest-first", "The latest first, not the earliest.")] = False,
    limit: Annotated[int | None, option("--limit", "N", "At most this many, 1 to 1000. [100]")] = None,
    cursor: Annotated[str | None, option("--cursor", "CURSOR", "The last listing's, to go on.")] = None,
    every: Annotated[bool, flag("--all", "All there are, page after page.")] = False,
    **given: Any,
) -> None:
    """List tasks by time: those in the queue by when they are due, others by when they ended.

    Lists scheduled and running tasks, unless a status is given.
    """
    if every and limit is not None:
        raise WrongUsage("give --all or --limit, not both")
    find = partial(context.editor().list, latest_first=latest_first, **filters_from(given))
    out = context.out
    shown = 0
    page = Page(tasks=())
    limit = 100 if limit is None else limit
    for page in _all_pages(find, cursor) if every else [_page(out, find, limit, cursor)]:
        shown += len(page.tasks)
        print_tasks(context, page.tasks)
        sys.stdout.flush()
    if page.cursor:
        out.note(f"there is more: repeat with --cursor {page.cursor}", {"cursor": page.cursor})
    elif not shown and not out.as_json:
        print("no tasks", file=sys.stdout if console().is_terminal else sys.stderr)


def _page(out: Output, find: Callable[..., Page], limit: int, cursor: str | None) -> Page:
    """A page of up to `limit` tasks. On a terminal, search until the page is full, and print the progress."""
    page = find(limit=limit, cursor=cursor, most_keys=QUICKLY)
    tasks = page.tasks
    while page.cursor and len(tasks) < limit and out.is_watched:
        out.note(f"looked as far as {local(place_from(page.cursor).at)} so far; {len(tasks)} found")
        page = find(limit=limit - len(tasks), cursor=page.cursor, most_keys=QUICKLY)
        tasks += page.tasks
    return Page(tasks=tasks, cursor=page.cursor)


def _all_pages(find: Callable[..., Page], cursor: str | None) -> Iterator[Page]:
    page = find(limit=MAX_LIMIT, cursor=cursor)
    yield page
    while page.cursor:
        page = find(limit=MAX_LIMIT, cursor=page.cursor)
        yield page
