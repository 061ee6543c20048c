"""The command `dead-letters`, for the messages of the stack's dead-letter queues."""

from typing import Annotated

import typer

from duebell_editor.library.json_fields import plain_values
from duebell_editor.status.dead_letters import delete_letters, read_letters, redrive
from duebell_shared.aws.intake_queue import DeadLetters
from duebell_shared.errors import InvalidInput

from .context import Context
from .output import console, in_one_line, local, plain, table
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
        DeadLetters | None,
        typer.Option("--redrive", help="Send these messages again, or set the rule for them."),
    ] = None,
    deleted: Annotated[
        DeadLetters | None, typer.Option("--delete", help="Delete these messages for good.")
    ] = None,
    ids: Annotated[
        list[str] | None, typer.Option("--id", metavar="ID", help="With --delete: only this message.")
    ] = None,
) -> None:
    """A call handles 1,000 messages of a queue at most. SQS hides those that are listed for a moment."""
    backend, as_json = context.account.backend, context.out.as_json
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
    if rows:
        console().print(table(("queue", "id", "since", "reason"), rows))
    else:
        print("no dead letters")
