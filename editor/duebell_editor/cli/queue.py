"""The commands about whole schedulers: `export`, `import`, `relane`, `dead-letters`, `editor`."""

import logging
import os
import sys
from typing import Annotated

import typer

from duebell_editor.library.json_fields import plain_values
from duebell_shared.aws.sqs import DeadLetters
from duebell_shared.errors import DuebellError, InvalidInput
from duebell_shared.log_lines import to_stdout
from duebell_shared.settings import MAX_LANES

from .context import Context, flag, option
from .errors import Exit, failure_fields
from .options import opened
from .output import json_line
from .program import examples

app = typer.Typer()


@app.command("export", epilog=examples("export > tasks.jsonl"))
def export_queue(context: Context) -> None:
    """History is included. Each line is one JSON document.

    With DUEBELL_HISTORY=failed, done and cancelled tasks are left out: no index has them.
    """
    output = sys.stdout.buffer
    for line in context.editor().export_tasks():
        output.write(json_line(line.decode()).encode() + b"\n")


@app.command(
    "import", epilog=examples("import tasks.jsonl", "--profile old export | duebell --profile new import -")
)
def import_queue(
    context: Context,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The exported file; - is standard input.")
    ] = "-",
) -> None:
    """It can be repeated, because it leaves out ids that exist already.

    The exit status is 7 if some could not be written.
    """
    with opened(file) as lines:
        report = context.editor().import_tasks(lines)
    counts = {"written": report.written, "there_already": report.there}
    done = f"{report.written:,} written, {report.there:,} there already"
    context.out.report(done, counts, failure_fields(report.failures))
    if report.failures:
        raise typer.Exit(Exit.SOME_FAILED)


@app.command(epilog=examples("relane 16"))
def relane(
    context: Context,
    lanes: Annotated[
        int, typer.Argument(metavar="LANES", help=f"The new number of lanes, at most {MAX_LANES}.")
    ],
) -> None:
    """It moves the waiting tasks to their new lanes.

    Tasks do not run until it is done, which takes seconds to minutes. Clients and workers need no restart.
    Tasks that are left stay where they are, and run there. If it was interrupted, repeat it with the same
    number.
    """
    context.answer(plain_values(context.editor().relane(lanes)))


@app.command(
    "dead-letters",
    epilog=examples("dead-letters", "dead-letters --redrive intake", "dead-letters --delete lost-rings"),
)
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
    editor = context.editor()
    if redriven and deleted:
        raise InvalidInput("--redrive", "cannot be combined with --delete")
    if ids and not deleted:
        raise InvalidInput("--id", "needs --delete")
    if queue := redriven or deleted:
        count = editor.redrive(queue) if redriven else editor.delete_dead_letters(queue, ids or None)
        word = "redriven" if redriven else "deleted"
        context.answer({word: count})
        return
    letters = plain_values(editor.dead_letters())
    context.answer({"letters": letters} if context.out.as_json else letters)


_HOST = "The address to serve on. An address that other machines reach needs a token."
_PROOF = (
    "The secret that requests must carry, 16 characters or more. Set the variable instead where other users "
    "can see command lines."
)
_ALLOWED_HOST = "Another host name to answer to, such as a proxy's. Can be repeated."
_IDENTITY_HEADER = (
    "The header in which a proxy names the visitor, such as X-Forwarded-User. It is kept as the author of "
    "changes. Use it only where nobody can reach this server without the proxy."
)


@app.command(
    epilog=examples("editor --read-only", "editor --host 0.0.0.0 --allowed-host duebell.example.com")
)
def editor(
    context: Context,
    *,
    port: Annotated[int, typer.Option(help="Port to serve on; 0 is any.")] = 8125,
    host: Annotated[str, option("--host", "ADDRESS", _HOST)] = "127.0.0.1",
    token: Annotated[str | None, option("--token", "TOKEN", _PROOF, envvar="DUEBELL_EDITOR_TOKEN")] = None,
    allowed_host: Annotated[list[str] | None, option("--allowed-host", "NAME", _ALLOWED_HOST)] = None,
    read_only: Annotated[bool, flag("--read-only", "Refuse every change.")] = False,
    identity_header: Annotated[str | None, option("--identity-header", "NAME", _IDENTITY_HEADER)] = None,
    access_log: Annotated[
        bool | None,
        typer.Option(help="A line of JSON for each request and each change. [on with a token]"),
    ] = None,
) -> None:
    """It serves until Ctrl-C, and only to this machine unless --host is given."""
    if token is None and "DUEBELL_EDITOR_TOKEN" in os.environ:
        raise InvalidInput("DUEBELL_EDITOR_TOKEN", "is empty: set a token, or unset the variable")
    try:
        from duebell_editor.http import serve  # noqa: PLC0415 - an extra, and slow to import
    except ModuleNotFoundError as error:
        if error.name not in {"fastapi", "starlette", "pydantic", "uvicorn"}:
            raise
        raise DuebellError(
            f"the HTTP editor needs {error.name}, which is not installed: pip install 'duebell[http]'"
        ) from error
    if (token is not None) if access_log is None else access_log:
        to_stdout(*map(logging.getLogger, ("duebell.http", "duebell.audit", "duebell.editor")))

    def started(url: str) -> None:
        asking = "" if token is None else ", and asks for the token"
        print(f"duebell is at {url}{asking} (Ctrl-C ends it)", flush=True)

    serve(
        # Without a token, only the users of this machine can reach it.
        context.editor(by="http" if token is None else None),
        host=host,
        port=port,
        token=token,
        allowed_hosts=allowed_host or (),
        read_only=read_only,
        identity_header=identity_header,
        started=started,
    )
