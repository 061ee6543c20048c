"""The command `dead-letters`: what stands in the dead-letter queues of the stack."""

from typing import Annotated

import typer

from duebell_editor.library.json_fields import plain_values
from duebell_editor.status.dead_letters import DeadLetters, delete_letters, read_letters, redrive
from duebell_shared.errors import InvalidInput

from .context import Context
from .output import Grid, console, in_one_line, local, plain
from .program import examples, with_json

app = typer.Typer()


@app.command(
    "dead-letters",
    epilog=examples("dead-letters", "dead-letters --redrive intake", "dead-letters --delete lost-rings"),
)
@with_json()
def dead_letters(
    context: Context,
    *,
    redriven: Annotated[
        DeadLetters | None, typer.Option("--redrive", help="Do again what its messages were for.")
    ] = None,
    deleted: Annotated[
        DeadLetters | None, typer.Option("--delete", help="Delete its messages, which cannot be undone.")
    ] = None,
    ids: Annotated[
        list[str] | None, typer.Option("--id", metavar="ID", help="With --delete: only this message.")
    ] = None,
) -> None:
    """A message that is listed or redriven is hidden for a moment, as SQS shows it only by receiving it."""
    backend, as_json = context.editor()._backend, context.out.as_json  # noqa: SLF001 (the operator's own rights)
    if redriven and deleted:
        raise InvalidInput("--redrive", "goes without --delete")
    if ids and not deleted:
        raise InvalidInput("--id", "goes with --delete")
    if queue := redriven or deleted:
        count = redrive(backend, queue) if redriven else delete_letters(backend, queue, ids or ())
        word = "redriven" if redriven else "deleted"
        if as_json:
            context.out.print_json({word: count})
        else:
            print(f"{word}: {count:,}")
        return
    letters = read_letters(backend)
    if as_json:
        context.out.print_json({"letters": plain_values(letters)})
        return
    rows = [
        (one.queue, one.id, local(one.sent_at), in_one_line(plain(one.reason or one.body))) for one in letters
    ]
    out = console()
    if rows:
        out.print(Grid(("queue", "id", "since", "reason"), rows, may_be_cut=True).table(out.width))
    else:
        print("no dead letters")
