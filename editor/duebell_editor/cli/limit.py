"""The command `limit`: limits of actions, set while the system is running."""

from typing import Annotated, Any

import typer

from duebell_editor import ActionLimit
from duebell_editor.library.json_fields import plain_values
from duebell_shared.errors import InvalidTask

from .context import Context
from .options import flag
from .output import plain
from .program import with_json

__all__ = ["app", "in_words"]

app = typer.Typer()


@app.command(
    epilog="\b\nExamples:\n  duebell limit mail --per-second 2\n  duebell limit mail --at-most 0\n"
    "  duebell limit mail --as-declared"
)
@with_json()
def limit(
    context: Context,
    action: Annotated[str, typer.Argument(metavar="ACTION", help="The action's name.")],
    *,
    at_most: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Attempts at a time; 0 pauses the action.")
    ] = None,
    per_second: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="Attempts that are started a second; 0 pauses the action."),
    ] = None,
    as_declared: Annotated[bool, flag("--as-declared", "Back to what the code declares.")] = False,
) -> None:
    """Limit or pause an action, over all runs together, in place of what its code declares.

    What is not given stays as it was set before. Runs that are under way follow within a minute.
    """
    given: dict[str, Any] = {"at_most": at_most, "per_second": per_second}
    given = {name: value for name, value in given.items() if value is not None}
    if as_declared and given:
        raise InvalidTask("--as-declared", "goes without other limits")
    if not as_declared and not given:
        raise InvalidTask("limit", "is missing: give --at-most, --per-second or --as-declared")
    if as_declared:
        given = {"at_most": None, "per_second": None}
    now = context.editor().limit(action, **given)
    if context.out.as_json:
        context.out.print_json(plain_values(now))
    else:
        print(plain(f"{now.action}: {in_words(now)}{_instead_of(now)}"))


def in_words(limit: ActionLimit) -> str:
    """The limit in words, and the tasks that wait for it: `5 at a time, 2 a second; 30 wait`."""
    words = "paused" if limit.paused else _words(limit.at_most, limit.per_second)
    if not limit.waiting:
        return words
    about = "" if limit.paused else "about "
    return f"{words}; {about}{limit.waiting:,} wait{'s' if limit.waiting == 1 else ''}"


def _words(at_most: int | None, per_second: float | None) -> str:
    parts = [f"{at_most:,} at a time"] if at_most is not None else []
    parts += [f"{per_second:g} a second"] if per_second is not None else []
    return ", ".join(parts) or "no limit"


def _instead_of(limit: ActionLimit) -> str:
    if limit.since is None:
        return ", as its code declares"
    return f" (its code declares: {_words(limit.declared_at_most, limit.declared_per_second)})"
