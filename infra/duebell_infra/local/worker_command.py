"""The command `duebell worker`: a long-running process that runs what is due, outside Lambda."""

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from types import FrameType
from typing import Annotated

import typer

from duebell_editor.cli.context import Context
from duebell_editor.cli.errors import Exit, exit_of
from duebell_editor.cli.program import everywhere
from duebell_infra.deploy.delivery_options import Deliver, NoDeliver, deliveries_given
from duebell_infra.deploy.options import Actions
from duebell_shared.deliveries.delivery import ENVIRONMENT, deliveries_in

from .signals import at_each_signal
from .worker_here import worker_here

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)

#: Seconds that threads without an action have to end.
_ENDING = 1.0


@app.command()
def worker(
    context: Context,
    *,
    actions: Actions,
    deliver: Deliver = None,
    no_deliver: NoDeliver = None,
    look_every: Annotated[
        float,
        typer.Option(
            min=0.1,
            max=60,
            metavar="SECONDS",
            help="Time between two reads of the record, a unit each.",
        ),
    ] = 1.0,
    drain_seconds: Annotated[
        float,
        typer.Option(min=0, max=86_400, metavar="SECONDS", help="How long actions may go on at the end."),
    ] = 20.0,
    health_port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Tell the health over HTTP there; 0 is any port.")
    ] = None,
    health_host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="The address to tell it on.")
    ] = "127.0.0.1",
) -> None:
    """Run what is due in this process, to the second, until SIGTERM or Ctrl-C; the rule stays the watchdog.

    Actions may take any time. At a signal nothing more is started, and the actions that run are given
    --drain-seconds; those that do not end in time are retried later. A second signal ends it at once.
    The log goes to standard output, a JSON object to a line.

    The exit status is 7 if actions did not end in time.
    """
    from duebell_worker.process.process import Process  # noqa: PLC0415

    _declare(deliver, no_deliver)
    with ExitStack() as running:
        process = Process(
            worker_here(context, actions),
            look_every=timedelta(seconds=look_every),
            drain_for=timedelta(seconds=drain_seconds),
        )
        if health_port is not None:
            from duebell_worker.log import emit  # noqa: PLC0415

            from .health_server import HealthServer  # noqa: PLC0415

            server = running.enter_context(HealthServer(health_host, health_port, process.health))
            emit("health_served", host=health_host, port=server.port)
        running.enter_context(_drained_by_signal(process.drain))
        try:
            status = Exit.DONE if process.run() else Exit.SOME_FAILED
        except Exception as error:
            if not _has_actions():
                raise
            context.print_error(error)
            status = exit_of(error)
        if _has_actions():  # the interpreter would wait for them
            _exit(status)
    raise typer.Exit(status)


def _declare(deliver: list[str] | None, no_deliver: list[str] | None) -> None:
    """Put the deliveries of the options into the environment, beside those that are there."""
    given = deliveries_given(deliver, no_deliver)
    if not given:
        return
    text = os.environ.get(ENVIRONMENT, "")
    deliveries_in(text)
    all = {**json.loads(text or "{}"), **given}
    kept = json.dumps({name: dict(fields) for name, fields in all.items() if fields is not None})
    deliveries_in(kept, where="--deliver")
    os.environ[ENVIRONMENT] = kept


@contextmanager
def _drained_by_signal(drain: Callable[[], None]) -> Iterator[None]:
    """Have the first signal drain the process, and the second one end it. For the main thread."""
    is_told = False

    def end(_number: int, _frame: FrameType | None) -> None:
        nonlocal is_told
        if is_told:
            _exit(Exit.INTERRUPTED)
        is_told = True
        # In a thread: what the signal interrupts may be writing to the log, as `drain` does.
        threading.Thread(target=drain, name="duebell-drain").start()

    with at_each_signal(end):
        yield


def _has_actions() -> bool:
    """Tell whether actions still run, after their process has left them."""
    threads = [one for one in threading.enumerate() if one.name.startswith("duebell-action")]
    for one in threads:
        one.join(_ENDING / len(threads))
    return any(one.is_alive() for one in threads)


def _exit(status: int) -> None:
    """End the process without waiting for its threads."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # the signal may have interrupted a write to it
            stream.flush()
    os._exit(status)


everywhere(app)
