"""`duebell failures`: the failed tasks in groups."""

import shlex
import sys
from collections.abc import Iterator

import typer
from rich.console import RenderableType
from rich.text import Text

from duebell_editor import FailureGroup, Failures
from duebell_editor.library.json_fields import plain_values
from duebell_editor.listing.failures import MOST_READ

from .context import Context
from .output import console, in_one_line, plain, when
from .program import with_json
from .tables import block

__all__ = ["app"]

app = typer.Typer()


@app.command(epilog="\b\nExample:\n  duebell retry --status failed --action charge --error TimeoutError")
@with_json()
def failures(context: Context) -> None:
    """Group the failed tasks by action and type of error, with the command that runs each group again.

    Recurring tasks whose last occurrence failed count, too. Reads the latest, and says so if that is not all.
    """
    found, out = context.editor().failures(), console()
    if context.out.as_json:
        context.out.print_json(plain_values(found))
        return
    if not found.groups:
        print("no failed tasks", file=sys.stdout if out.is_terminal else sys.stderr)
    for part in _parts(context, found):
        out.print(part, soft_wrap=True)
    if not found.is_all:
        context.out.note(f"more tasks have failed: these are the {MOST_READ} latest")


def _parts(context: Context, found: Failures) -> Iterator[RenderableType]:
    for group in found.groups:
        title = Text.assemble(
            _count(group), f" of {plain(group.action)}: ", (group.error or "no error", "red")
        )
        last = f"last {when(group.last_at, context.now())}"
        yield from block(title, *filter(None, [in_one_line(group.message), last, *_commands(group)]))


def _count(group: FailureGroup) -> tuple[str, str]:
    count = group.failed + len(group.failing)
    return "1 task" if count == 1 else f"{count:,} tasks", "bold"


def _commands(group: FailureGroup) -> Iterator[str]:
    """The commands that run the group's tasks again."""
    if group.failed:
        error = ["--error", group.error] if group.error else []
        words = ["duebell", "retry", "--status", "failed", "--action", group.action, *error]
        yield plain(shlex.join(words))
    if group.failing:
        yield plain(shlex.join(["duebell", "run-now", *group.failing]))
