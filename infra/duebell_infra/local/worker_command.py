"""The command `duebell worker`: a long-running process that runs what is due, outside Lambda."""

import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from duebell_editor.cli.context import Context, print_error
from duebell_editor.cli.errors import Exit, exit_of
from duebell_editor.cli.program import examples
from duebell_infra.deploy.options import Actions, actions_given
from duebell_infra.deploy.parameters import SHARED, environment_of
from duebell_shared.errors import DuebellError, InvalidSettings
from duebell_shared.instants import to_json
from duebell_shared.settings import SETTINGS
from duebell_worker.worker import Worker

from .signals import at_each_signal

if TYPE_CHECKING:
    from duebell_worker.process import Health

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)

#: Seconds that threads without an action have to end.
_ENDING = 1.0

#: Seconds that a connection to the health server lasts at most.
_PATIENCE = 5.0


@app.command(epilog=examples("worker --actions shop.worker:worker --health-port 8080"))
def worker(
    context: Context,
    *,
    actions: Actions,
    drain_seconds: Annotated[
        float,
        typer.Option(min=0, max=86_400, metavar="SECONDS", help="How long actions may go on at the end."),
    ] = 20.0,
    health_port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Port that answers with the health over HTTP; 0 is any port."),
    ] = None,
    health_host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="The address of the health port.")
    ] = "127.0.0.1",
) -> None:
    """It starts tasks to the second, and ends with SIGTERM or Ctrl-C. The rule stays set, as a watchdog.

    Actions may take any time. After a signal no task starts, and running actions have --drain-seconds to end.
    Actions that are cut off are retried later. A second signal ends the process at once. The log goes to
    standard output, a JSON object to a line.

    The exit status is 7 if actions did not end in time. It is 8 if actions that run on after their time-out
    keep half of the places: have it started again then.
    """
    from duebell_worker.process import Process  # noqa: PLC0415

    with ExitStack() as running:
        process = Process(worker_here(context, actions), drain_for=timedelta(seconds=drain_seconds))
        if health_port is not None:
            from duebell_worker.log import LogLine, emit  # noqa: PLC0415

            port = running.enter_context(serving_health(health_host, health_port, process.health))
            emit(LogLine.HEALTH_SERVED, host=health_host, port=port)
        running.enter_context(_drained_by_signal(process.drain))
        try:
            status = Exit.DONE if process.run() else Exit.SOME_FAILED
            status = Exit.WORN_OUT if process.is_worn_out else status
        except Exception as error:
            if not _has_actions():
                raise
            print_error(context.out, error)
            status = exit_of(error)
        if _has_actions():  # the interpreter would wait for them
            _exit(status)
    raise typer.Exit(status)


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
    """Tell whether actions still run, after the process has stopped waiting for them."""
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


def worker_here(context: Context, actions: str) -> Worker:
    """The worker that --actions names. Its log goes to standard output, a JSON object to a line.

    Raises BadParameter, a usage error, if it cannot be imported, and InvalidSettings.
    """
    if context.chosen_name:
        chosen = environment_of(context.account.settings)
        for variable in ("DUEBELL_NAME", *(SETTINGS[field].variable for field in SHARED)):
            os.environ.pop(variable, None)  # it may be of another scheduler
        os.environ.update(chosen)
    context.account.export()
    sys.path.insert(0, str(Path.cwd()))  # as python -m does
    from duebell_worker.entry import load  # noqa: PLC0415
    from duebell_worker.log import to_stdout  # noqa: PLC0415

    to_stdout()
    try:
        return load(actions_given(actions) or "")
    except DuebellError:
        raise
    except (Exception, SystemExit) as error:
        raise typer.BadParameter(
            f"--actions {actions} cannot be imported: {type(error).__name__}: {error}"
        ) from error


@contextmanager
def serving_health(host: str, port: int, health: Callable[[], "Health"]) -> Iterator[int]:
    """Answer GET of any path with the health as JSON, in threads of its own. Yields the port; 0 is any port.

    Each connection ends after five seconds, whatever comes. Raises InvalidSettings if the address cannot be
    bound.
    """

    if not host:  # it would be each address of this machine
        raise InvalidSettings("health_host", "is empty: give an address of this machine")

    class Handler(BaseHTTPRequestHandler):
        server_version, sys_version = "duebell", ""

        def setup(self) -> None:
            super().setup()
            self._end = threading.Timer(_PATIENCE, self.connection.shutdown, [socket.SHUT_RDWR])
            self._end.daemon = True
            self._end.start()

        def finish(self) -> None:
            self._end.cancel()
            super().finish()

        def do_GET(self) -> None:
            now = health()
            body = to_json(now).encode()
            self.send_response(200 if now.is_well else 503)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Log no request: one comes every few seconds."""

    class Server(ThreadingHTTPServer):
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

        def handle_error(self, *_: object) -> None:
            """Say nothing of a client that is gone or was cut off."""

    try:
        server = Server((host, port), Handler)
    except (OSError, OverflowError) as error:
        raise InvalidSettings(
            "health_port",
            f"{host} port {port} cannot be used: {error}; choose another with --health-port, or an "
            f"address of this machine with --health-host",
        ) from None
    threading.Thread(target=server.serve_forever, name="duebell-health", daemon=True).start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
