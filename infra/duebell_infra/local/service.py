"""`duebell local`: runs the embedded stack with the HTTP editor, and starts, awaits or stops its process."""

import os
import shlex
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path

from duebell_editor.cli.account import caller
from duebell_editor.cli.local_note import STATE, STATE_VARIABLE, LocalNote
from duebell_editor.library.editor import Editor
from duebell_infra.deploy.deliveries import Deliveries
from duebell_infra.deploy.options import actions_given
from duebell_infra.errors import EmbeddedStackFailed
from duebell_shared.errors import DuebellError
from duebell_shared.settings import Precision

from .ministack import HOST, refuse_taken
from .signals import Ended, ended_by_signal
from .stack import EmbeddedStack
from .state import StateFolder, is_locked
from .worker_log import WorkerLog

#: Seconds between checks of the process.
_PAUSE = 0.1
#: Seconds that the process has to end: MiniStack writes its state before.
_STOP_LIMIT = 120.0

#: The file of the state folder with the output of a process in the background.
_OUTPUT = "local.log"

#: Names the page's token, as for `duebell editor`. Without one, other users of this machine can use the page.
_TOKEN = "DUEBELL_EDITOR_TOKEN"  # noqa: S105

_NO_ACTIONS = "none, so every task will fail: give your actions with --actions MODULE:ATTRIBUTE"

#: Seconds between reads of the worker's log.
_LOG_EVERY = 0.2

#: Seconds between checks of the sources. A change is loaded when no further change follows: editors
#: write files in steps.
_SOURCES_EVERY = 0.5


def serve(
    state: Path,
    *,
    port: int,
    editor_port: int,
    actions: str | None,
    deliver: Deliveries | None,
    intake: bool | None,
    requirements: Path | None,
    precision: Precision,
    say: Callable[[str], None],
) -> None:
    """Serve until Ctrl-C, SIGTERM or an error; then stop everything in order. Raises what stopped it.

    The arguments are the options of `duebell local`.
    """
    if find_spec("fastapi") is None or find_spec("uvicorn") is None:
        raise EmbeddedStackFailed("the HTTP editor needs FastAPI and uvicorn: pip install 'duebell[local]'")
    from duebell_editor.http import serve as serve_editor  # noqa: PLC0415

    if port == editor_port:
        raise EmbeddedStackFailed(
            f"the stack and the HTTP editor cannot both have port {port}: choose another with --port or "
            f"--editor-port"
        )
    with StateFolder(state):  # refuses a folder in use, before the error that its ports are taken
        pass
    refuse_taken(editor_port, option="--editor-port")

    def say_with_time(line: str) -> None:
        say(f"{datetime.now():%H:%M:%S}  {line}")  # noqa: DTZ005 (for a person, at this machine)

    given = {} if intake is None else {"Intake": "yes" if intake else "no"}
    stack = EmbeddedStack(
        state,
        port=port,
        actions=actions_given(actions),
        deliver=deliver,
        requirements=requirements,
        parameters={"Precision": precision, **given},
        synced=say_with_time,
    )

    def greet(url: str) -> None:
        for line in _greeting(stack, state, url):
            say(line)
        LocalNote(pid=os.getpid(), editor=url, environment=stack.environment).write(state)

    watch = _Watch(stack, say)
    try:
        with ended_by_signal(), stack, ExitStack() as undo:
            undo.callback(LocalNote.delete, state)
            undo.enter_context(_repeated(watch.check, every=_LOG_EVERY))
            reloader = Reloader(stack, lambda line: say_with_time(f"      {line}"))
            undo.enter_context(_repeated(reloader.check, every=_SOURCES_EVERY))
            editor = Editor(stack.settings, session=stack.session, changed_by=caller("http"))
            serve_editor(editor, HOST, editor_port, token=os.environ.get(_TOKEN), started=greet)
    except Ended:
        pass
    if watch.stack_died:
        raise EmbeddedStackFailed(
            f"MiniStack has ended by itself, and what came since it was started is lost "
            f"(see {state / 'ministack.log'})"
        )
    say(f"stopped; the queue is kept in {state}")


def _greeting(stack: EmbeddedStack, state: Path, url: str) -> Iterator[str]:
    none = "only the deliveries below" if stack.deliveries else _NO_ACTIONS
    yield f"page     {url}"
    yield f"stack    {stack.endpoint_url}  (state and log in {state})"
    yield f"worker   {f'{stack.actions}, reloaded when its sources change' if stack.actions else none}"
    yield from (f"delivery {one.name} to {one.target.shown}" for one in stack.deliveries)
    if stack.intake_url:
        yield f"intake   {stack.intake_url}"
    yield "`duebell local stop`, or Ctrl-C in its terminal, stops it and keeps what is in the queue"
    yield from ways_in(state, stack.environment)


#: The variable by which a started process knows that it runs in the background.
DETACHED = "_DUEBELL_DETACHED"


def start(state: Path, arguments: Sequence[str]) -> str:
    """Start `duebell` with these arguments in the background; return what it printed once it is ready.

    It goes on when this process ends. An interrupted call ends it. If the started process fails, its error is
    printed, and SystemExit has its status. Raises AlreadyRunning, and EmbeddedStackFailed if it ended without
    an error.
    """
    with StateFolder(state):  # refuses a folder that is in use, and makes it private
        pass
    output = state / _OUTPUT
    os.environ[DETACHED] = "yes"
    try:
        with output.open("wb") as log:
            process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-P", "-m", "duebell", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    finally:
        del os.environ[DETACHED]
    try:
        while process.poll() is None:
            if _ready(state):
                return output.read_text(errors="replace")
            time.sleep(_PAUSE)
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        raise
    said = output.read_text(errors="replace").strip().splitlines()
    if said and process.returncode > 0:
        sys.stderr.write(f"{said[-1]}\n")  # its error, as text or as JSON
        raise SystemExit(process.returncode)
    raise EmbeddedStackFailed(f"it ended at once (see {output})")


def wait(state: Path, *, limit: float) -> LocalNote:
    """Wait until the stack of this folder is ready, which another process starts. Returns its note.

    Raises EmbeddedStackFailed after `limit` seconds.
    """
    give_up = time.monotonic() + limit
    while not (note := _ready(state)):
        if time.monotonic() >= give_up:
            raise EmbeddedStackFailed(
                f"no stack is ready in {state} after {limit:g} seconds: `duebell local --detach` starts one"
            )
        time.sleep(_PAUSE)
    return note


def stop(state: Path) -> bool:
    """End the `duebell local` of this folder, and wait until all is stored. Returns False if none runs.

    If it is still starting, it is ended once it is ready. Raises EmbeddedStackFailed if it does not end.
    """
    running = None
    give_up = time.monotonic() + _STOP_LIMIT
    # Wait also if it was killed: MiniStack holds the folder too, and may still write its state.
    while is_locked(state):
        if running is None and (running := _ready(state)):
            with suppress(ProcessLookupError):
                os.kill(running.pid, signal.SIGTERM)
        if time.monotonic() > give_up:
            raise EmbeddedStackFailed(f"the stack in {state} does not end: see {state / 'ministack.log'}")
        time.sleep(_PAUSE)
    LocalNote.delete(state)
    return running is not None


def ways_in(state: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """Lines that say how the command line and services reach the stack of this folder."""
    yield "in another terminal, the command line reaches it with --name local:"
    is_usual = state.resolve() == Path(os.environ.get(STATE_VARIABLE, STATE)).resolve()
    where = "" if is_usual else f"{STATE_VARIABLE}={shlex.quote(str(state))} "
    yield f"  {where}duebell --name local add ACTION --in 2m"
    yield "and your services, the command line too, with:"
    yield "  export " + " ".join(f"{name}={value}" for name, value in environment.items())


def _ready(state: Path) -> LocalNote | None:
    """The note of the stack of this folder; None if none is ready, or its process was killed."""
    note = LocalNote.read(state)
    if note is None or not is_locked(state):
        return None
    try:
        os.kill(note.pid, 0)
    except ProcessLookupError:
        return None
    return note


@contextmanager
def _repeated(check: Callable[[], None], *, every: float) -> Iterator[None]:
    """Make the check again and again inside the context, in a thread."""
    is_over = threading.Event()

    def run() -> None:
        told = ""
        while not is_over.wait(every):
            try:
                check()
            except Exception:  # noqa: BLE001 (the next checks must come)
                if (trace := traceback.format_exc()) != told:
                    sys.stderr.write(trace)
                    told = trace

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


class _Watch:
    """Prints the worker's log as it comes, and ends this process in order if the stack dies."""

    def __init__(self, stack: EmbeddedStack, say: Callable[[str], None]) -> None:
        self._stack = stack
        self._say = say
        self._log = WorkerLog(stack.worker_log)
        self.stack_died = False

    def check(self) -> None:
        """Print the lines that came since the last call."""
        if not self._stack.is_running and not self.stack_died:
            self.stack_died = True
            os.kill(os.getpid(), signal.SIGTERM)
        for line in self._log.new_lines():
            self._say(line)


class Reloader:
    """Reloads the worker when a source file of its actions changes, and prints the result in a line."""

    def __init__(self, stack: EmbeddedStack, say: Callable[[str], None]) -> None:
        self._stack = stack
        self._say = say
        self._files = stack.sources()
        self._before = _states_of(self._files)
        self._loaded = dict(self._before)
        # A file that was saved while the stack started may not be loaded: it counts as changed.
        self._loaded |= {file: (0, 0) for file in self._files if self._before[file][0] >= stack.begun}

    def check(self) -> None:
        """Reload the worker if its sources have changed, and did not change since the last call."""
        now = _states_of(self._files)
        if now != self._loaded and now == self._before:
            self._reload(sorted(file.name for file in self._files if self._loaded[file] != now[file]))
            self._files = self._stack.sources() or self._files
            # A file keeps its state from before the reload, as it may have changed meanwhile.
            self._loaded = {path: now.get(path, state) for path, state in _states_of(self._files).items()}
        self._before = now

    def _reload(self, changed: list[str]) -> None:
        try:
            self._stack.reload()
        except Exception as error:  # noqa: BLE001 (whatever is wrong, the next change is loaded)
            why = str(error) if isinstance(error, DuebellError) else f"{type(error).__name__}: {error}"
            self._say(f"the worker is not reloaded, and the one before goes on: {why}")
        else:
            self._say(f"the worker is reloaded: {', '.join(changed) or 'the folder of its sources'} changed")


def _states_of(sources: Iterable[Path]) -> dict[Path, tuple[int, int]]:
    """The time and size of the files and their folders: a file that is added changes its folder."""

    def state(path: Path) -> tuple[int, int]:
        try:
            found = path.stat()
        except OSError:
            return (0, 0)
        return found.st_mtime_ns, found.st_size

    files = list(sources)
    return {path: state(path) for path in {*files, *(file.parent for file in files)}}
