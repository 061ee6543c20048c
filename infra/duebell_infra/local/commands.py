"""`duebell local`, and the commands for one that runs in the background: wait for it, stop it."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from duebell_editor.cli.context import Context
from duebell_editor.cli.errors import Exit
from duebell_editor.cli.program import examples
from duebell_editor.cli.schedulers import STATE, STATE_VARIABLE, LocalStack
from duebell_infra.deploy.options import ACTIONS, Deliver, Requirements, deliveries_given
from duebell_infra.errors import AlreadyRunning
from duebell_shared.settings import Precision

app = typer.Typer(
    name="local",
    invoke_without_command=True,
    rich_markup_mode=None,
    epilog=examples("local --actions shop.worker:worker", "local --detach", "local stop"),
)

_STATE = typer.Option(
    metavar="DIR", envvar=STATE_VARIABLE, help="The folder of the stack's state. [.duebell]"
)


@app.callback()
def local(
    context: Context,
    *,
    state: Annotated[Path | None, _STATE] = None,
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
) -> None:
    """It serves the HTTP API and its page, and needs no AWS account.

    The worker is reloaded when a source file of its actions changes.

    The exit status is 4 if the stack of this folder runs already.
    """
    if context.call is not None and context.call.invoked_subcommand:
        return
    # Not at the top: they need locks and signals that only Unix has, and the other commands run anywhere.
    from .service import serve, start  # noqa: PLC0415

    state = state or STATE
    given_deliveries = deliveries_given(deliver)
    try:
        if detach:
            arguments = [one for one in sys.argv[1:] if one not in {"--detach", "-d"}]
            typer.echo(start(state, arguments), nl=False)
            return
        serve(
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
        # Not 0: what runs may have been started with other options than were given here.
        context.print_error(error)
        if running := LocalStack.read(state):
            typer.echo(f"page     {running.editor}")
            _say_ways_in(state, running)
        raise typer.Exit(Exit.CONFLICT) from error


@app.command(epilog=examples("local wait --timeout 120"))
def wait(
    context: Context,
    *,
    state: Annotated[Path | None, _STATE] = None,
    timeout: Annotated[float, typer.Option(min=0, metavar="SECONDS", help="How long to wait at most.")] = 60,
) -> None:
    """Wait until the stack of `duebell local` is ready. The exit status is 1 if it takes too long."""
    from .service import wait  # noqa: PLC0415

    folder = _state_of(context, state)
    ready = wait(folder, limit=timeout)
    typer.echo(f"duebell local is ready, its page at {ready.editor}")
    _say_ways_in(folder, ready)


@app.command(epilog=examples("local stop"))
def stop(context: Context, *, state: Annotated[Path | None, _STATE] = None) -> None:
    """Stop the stack of `duebell local`. It returns when the queue is stored."""
    from .service import stop  # noqa: PLC0415

    folder = _state_of(context, state)
    typer.echo(f"stopped; the queue is kept in {folder}" if stop(folder) else "none is running")


def _say_ways_in(state: Path, running: LocalStack) -> None:
    from .service import ways_in  # noqa: PLC0415

    for line in ways_in(state, running.environment):
        typer.echo(line)


def _state_of(context: Context, state: Path | None) -> Path:
    """The state folder that is given after the subcommand, or before it."""
    before = context.call.parent.params.get("state") if context.call and context.call.parent else None
    return state or before or STATE
