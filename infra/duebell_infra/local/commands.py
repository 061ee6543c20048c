"""`duebell local`: start the stack of this machine, wait for it, stop it."""

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from duebell_editor.cli.context import Context, print_error
from duebell_editor.cli.errors import Exit
from duebell_editor.cli.local_note import STATE, STATE_VARIABLE, LocalNote
from duebell_editor.cli.program import examples
from duebell_infra.deploy.options import ACTIONS, Deliver, Requirements, deliveries_given
from duebell_infra.errors import AlreadyRunning
from duebell_shared.settings import Precision

app = typer.Typer(rich_markup_mode=None)


@app.command(
    epilog=examples(
        "local --actions shop.worker:worker", "local --detach", "local wait --timeout 120", "local stop"
    )
)
def local(
    context: Context,
    verb: Annotated[
        Literal["start", "wait", "stop"],
        typer.Argument(metavar="VERB", help="start; wait: until it is ready; stop: the queue is kept."),
    ] = "start",
    *,
    state: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            envvar=STATE_VARIABLE,
            help="The folder of the stack's state: new, empty, or of an earlier start.",
        ),
    ] = STATE,
    port: Annotated[int, typer.Option(min=1, max=65535, help="The stack's port.")] = 4566,
    editor_port: Annotated[
        int, typer.Option(min=1, max=65535, help="The port of the page and the HTTP API.")
    ] = 8125,
    actions: Annotated[str | None, ACTIONS] = None,
    deliver: Deliver = None,
    intake: Annotated[
        bool | None,
        typer.Option("--intake/--no-intake", help="With an intake queue. [no, or as before]"),
    ] = None,
    requirements: Requirements = None,
    precision: Annotated[Precision, typer.Option(help="How near to their due date tasks start.")] = (
        Precision.MINUTE
    ),
    detach: Annotated[
        bool, typer.Option("--detach", "-d", help="Run in the background; return when it is ready.")
    ] = False,
    timeout: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="How long wait waits at most.")
    ] = 60,
) -> None:
    """It serves the HTTP API and its page, and needs no AWS account.

    The worker is reloaded when a source file of its actions changes.

    The exit status is 4 if the stack of this folder runs already, 1 if wait takes too long.
    """
    # Not at the top: it needs locks and signals that only Unix has, and the other commands run anywhere.
    from . import service  # noqa: PLC0415

    if verb == "stop":
        is_stopped = service.stop(state)
        typer.echo(f"stopped; the queue is kept in {state}" if is_stopped else "none is running")
        return
    if verb == "wait":
        ready = service.wait(state, limit=timeout)
        typer.echo(f"duebell local is ready, its page at {ready.editor}")
        typer.echo("\n".join(service.ways_in(state, ready.environment)))
        return
    given_deliveries = deliveries_given(deliver)
    try:
        if detach and not os.environ.pop(service.DETACHED, ""):
            typer.echo(service.start(state, sys.argv[1:]), nl=False)
            return
        service.serve(
            state,
            port=port,
            editor_port=editor_port,
            actions=actions,
            deliver=given_deliveries,
            intake=intake,
            requirements=requirements,
            precision=precision,
            say=typer.echo,
        )
    except AlreadyRunning as error:
        # Not 0: the running stack may have been started with other options than these.
        print_error(context.out, error)
        if running := LocalNote.read(state):
            typer.echo(f"page     {running.editor}")
            typer.echo("\n".join(service.ways_in(state, running.environment)))
        raise typer.Exit(Exit.CONFLICT) from error
