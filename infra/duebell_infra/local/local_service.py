"""`duebell local`: the embedded stack, the HTTP editor before it, and the worker's log, on a terminal."""

import os
import signal
import threading
import warnings
from collections.abc import Callable
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path

from duebell_editor import Editor
from duebell_editor.library.caller import caller
from duebell_infra.deploy.deliveries import Given
from duebell_infra.deploy.delivery_options import without_none
from duebell_infra.deploy.intake_option import intake_parameter
from duebell_infra.errors import EmbeddedStackFailed
from duebell_shared.settings import Precision
from duebell_worker.log import LogFormat

from .local import EmbeddedStack
from .local_process import Registration, clear, ways_in
from .ministack import HOST, refuse_taken
from .reload import Reloader
from .signals import Ended, ended_by_signal
from .worker_log import WorkerLog

__all__ = ["serve"]

#: The file of the state's folder that names the actions which were given last.
_ACTIONS = "actions"

#: Names the page's token, as for `duebell editor`. Without one, other users of this machine can use the page.
_TOKEN = "DUEBELL_EDITOR_TOKEN"  # noqa: S105

_NO_ACTIONS = "none, so every task will fail: give your actions with --actions MODULE:ATTRIBUTE"

#: Seconds between looks at the worker's log.
_LOOK_EVERY = 0.2


def serve(
    state: Path,
    *,
    port: int,
    editor_port: int,
    actions: str | None,
    deliver: Given,
    intake: bool | None,
    requirements: Path | None,
    precision: Precision,
    log_format: LogFormat,
    say: Callable[[str], None],
) -> None:
    """Serve until Ctrl-C, SIGTERM or an error; then stop everything in order. Raises what stopped it.

    The arguments are the options of `duebell local`. `actions` defaults to those given last for this folder,
    which may hold tasks for them.
    """
    if find_spec("fastapi") is None or find_spec("uvicorn") is None:
        raise EmbeddedStackFailed("the HTTP editor needs FastAPI and uvicorn: pip install 'duebell[local]'")
    from duebell_editor.http import serve as serve_editor  # noqa: PLC0415

    if port == editor_port:
        raise EmbeddedStackFailed(
            f"the stack and the HTTP editor cannot both have port {port}: choose another with --port or "
            f"--editor-port"
        )
    clear(state)
    refuse_taken(editor_port, field="editor_port")
    kept = state / _ACTIONS
    if actions is None and kept.is_file():
        actions = kept.read_text(encoding="utf-8")
    actions = without_none(actions)
    registration = Registration(state)
    log = _Log(say)
    stack = EmbeddedStack(
        state,
        port=port,
        actions=actions,
        deliver=deliver,
        requirements=requirements,
        parameters={"Precision": precision, **intake_parameter(intake=intake)},
        log_format=log_format,
        while_locked=registration,
        synced=log.say_synced,
    )

    def greet(url: str) -> None:
        deliveries = stack.deliveries()
        none = "only the deliveries below" if deliveries else _NO_ACTIONS
        say(f"editor   {url}")
        say(f"stack    {stack.endpoint_url}  (state and log in {state})")
        say(f"worker   {f'{actions}, reloaded when its sources change' if actions else none}")
        for one in deliveries:
            say(f"delivery {one.name} to {one.target.shown}")
        if stack.intake_url:
            say(f"intake   {stack.intake_url}")
        for line in ways_in(state, stack.environment):
            say(line)
        say("Ctrl-C stops it and keeps what is in the queue")
        registration.is_ready(url, stack.environment, log.synced)

    watch, reloader = _Watch(stack, say), Reloader(stack, log.say_reloaded)
    try:
        with ended_by_signal(), warnings.catch_warnings(), stack, watch, reloader:
            # If it is told to end just before it starts, uvicorn leaves a coroutine behind, without harm.
            warnings.filterwarnings(
                "ignore", message="coroutine .* was never awaited", category=RuntimeWarning
            )
            editor = Editor(stack.settings, session=stack.session, changed_by=caller("http"))
            kept.write_text(actions or "", encoding="utf-8")
            serve_editor(editor, HOST, editor_port, token=os.environ.get(_TOKEN), started=greet)
    except Ended:
        pass
    if watch.stack_died:
        raise EmbeddedStackFailed(
            f"MiniStack has ended by itself, and what came since it was started is lost "
            f"(see {state / 'ministack.log'})"
        )
    say(f"stopped; what is in the queue is kept in {state}")


class _Log:
    """Lines of this process among those of the worker's log, with their time.

    synced  what was told of recurring tasks so far
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self.synced: list[str] = []

    def say_synced(self, line: str) -> None:
        self.synced.append(line)
        self._say(f"{_clock()}  {line}")

    def say_reloaded(self, line: str) -> None:
        self._say(f"{_clock()}        {line}")


def _clock() -> str:
    return f"{datetime.now():%H:%M:%S}"  # noqa: DTZ005 (for a person, at this machine)


class _Watch:
    """A thread that prints the worker's log as it comes, and ends this process in order if the stack dies."""

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
        log = WorkerLog(self._stack.worker_log)
        while not self._stop.wait(_LOOK_EVERY):
            if not self._stack.is_running:
                self.stack_died = True
                os.kill(os.getpid(), signal.SIGTERM)
                return
            for line in log.new_lines():
                self._say(line)
