"""`duebell local`: the embedded stack, the HTTP editor before it, and what the worker does, on a terminal."""

import os
import signal
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from duebell_editor import Editor
from duebell_shared.settings import Precision

from .ending import Ended, ended_by_signal
from .errors import EmbeddedStackFailed
from .local import EmbeddedStack
from .ministack import HOST, refuse_taken
from .worker_log import WorkerLog

__all__ = ["LocalService", "serve"]

#: The file of the state's folder that names the actions.
_ACTIONS = "actions"

#: Names the page's token, as for `duebell editor`. Without one, other users of this machine can use the page.
_TOKEN = "DUEBELL_EDITOR_TOKEN"  # noqa: S105

#: Seconds between looks at the worker's log.
_LOOK_EVERY = 0.5


@dataclass(frozen=True, kw_only=True)
class LocalService:
    """What to serve, and where. The fields are the options of `duebell local`."""

    state: Path
    port: int
    editor_port: int
    actions: str | None
    requirements: Path | None = None
    precision: Precision = Precision.MINUTE


def serve(service: LocalService, *, say: Callable[[str], None]) -> None:
    """Serve until Ctrl-C, SIGTERM or an error; then stop everything in order. Raises what stopped it."""
    if find_spec("fastapi") is None or find_spec("uvicorn") is None:
        raise EmbeddedStackFailed("the HTTP editor needs FastAPI and uvicorn: pip install 'duebell[local]'")
    from duebell_editor.http import serve as serve_editor  # noqa: PLC0415

    if service.port == service.editor_port:
        raise EmbeddedStackFailed(
            f"the stack and the HTTP editor cannot both have port {service.port}: choose another with --port "
            f"or --editor-port"
        )
    refuse_taken(service.editor_port, option="--editor-port")
    service = _as_before(service)
    stack = EmbeddedStack(
        service.state,
        port=service.port,
        actions=service.actions,
        requirements=service.requirements,
        parameters={"Precision": service.precision},
    )
    watch = _Watch(stack, say)
    try:
        with ended_by_signal(), warnings.catch_warnings(), stack, watch:
            # Told to end just before it starts, uvicorn leaves one behind; it does not matter then.
            warnings.filterwarnings(
                "ignore", message="coroutine .* was never awaited", category=RuntimeWarning
            )
            editor = Editor(stack.settings, session=stack.session)
            if service.actions:
                (service.state / _ACTIONS).write_text(service.actions, encoding="utf-8")
            serve_editor(
                editor,
                HOST,
                service.editor_port,
                token=os.environ.get(_TOKEN),
                started=lambda url: _greet(service, stack, url, say),
            )
    except Ended:
        pass
    if watch.stack_died:
        raise EmbeddedStackFailed(
            f"MiniStack has ended by itself, and what came since it was started is lost "
            f"(see {service.state / 'ministack.log'})"
        )
    say(f"stopped; what is in the queue is kept in {service.state}")


def _as_before(service: LocalService) -> LocalService:
    """With the actions that were given for this folder last, if none are: else what is kept would fail."""
    kept = service.state / _ACTIONS
    if service.actions is None and kept.is_file():
        return replace(service, actions=kept.read_text(encoding="utf-8"))
    return service


class _Watch:
    """A thread that tells what the worker logs, and ends the process in order should the stack die."""

    def __init__(self, stack: EmbeddedStack, say: Callable[[str], None]) -> None:
        self._stack = stack
        self._say = say
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self.stack_died = False

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        log = WorkerLog(self._stack.session.client("logs"), self._stack.log_group)
        while not self._stop.wait(_LOOK_EVERY):
            if not self._stack.is_running:
                self.stack_died = True
                os.kill(os.getpid(), signal.SIGTERM)
                return
            for line in log.new_lines():
                self._say(line)


def _greet(service: LocalService, stack: EmbeddedStack, url: str, say: Callable[[str], None]) -> None:
    say(f"editor   {url}")
    say(f"stack    {stack.endpoint_url}  (state and log in {service.state})")
    say(
        f"worker   {service.actions}"
        if service.actions
        else "worker   none, so every task will fail: give your actions with --actions MODULE:ATTRIBUTE"
    )
    say("in another terminal, the command line and your services reach it with:")
    say("  export " + " ".join(f"{name}={value}" for name, value in stack.environment.items()))
    say("  duebell add ACTION --in 2m")
    say("Ctrl-C stops it and keeps what is in the queue")
