"""`duebell local`: the embedded stack with the HTTP editor, and its process, which others wait for and end.

The process holds a lock (`flock`) on a file of the state folder as long as it lives, whatever ends it.
MiniStack does not inherit that lock. So the lock, and not a process number, says that the stack runs.
"""

import fcntl
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path

from duebell_editor.cli.account import caller
from duebell_editor.cli.schedulers import STATE, STATE_VARIABLE, LocalStack
from duebell_editor.library.editor import Editor
from duebell_infra.deploy.deliveries import Deliveries
from duebell_infra.deploy.options import without_none
from duebell_infra.errors import AlreadyRunning, EmbeddedStackFailed
from duebell_shared.errors import DuebellError
from duebell_shared.settings import Precision

from .ministack import HOST, refuse_taken
from .signals import Ended, ended_by_signal
from .stack import EmbeddedStack
from .state import StateFolder
from .worker_log import WorkerLog

#: Seconds between checks of the process.
_PAUSE = 0.1
#: Seconds that the process has to end: MiniStack writes its state before.
_STOP_LIMIT = 120.0

#: Files of the state folder: the lock of the process, its output in the background, the actions given last.
_PROCESS, _OUTPUT, _ACTIONS = "process", "local.log", "actions"

#: Names the page's token, as for `duebell editor`. Without one, other users of this machine can use the page.
_TOKEN = "DUEBELL_EDITOR_TOKEN"  # noqa: S105

_NO_ACTIONS = "none, so every task will fail: give your actions with --actions MODULE:ATTRIBUTE"

#: Seconds between reads of the worker's log.
_LOG_EVERY = 0.2

#: Seconds between checks of the sources. A change is loaded when no further one follows: editors write in
#: steps.
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
    refuse_taken(editor_port, option="--editor-port")
    kept = state / _ACTIONS
    if actions is None and kept.is_file():
        actions = kept.read_text(encoding="utf-8")
    actions = without_none(actions)

    def say_with_time(line: str) -> None:
        say(f"{datetime.now():%H:%M:%S}  {line}")  # noqa: DTZ005 (for a person, at this machine)

    given = {} if intake is None else {"Intake": "yes" if intake else "no"}
    stack = EmbeddedStack(
        state,
        port=port,
        actions=actions,
        deliver=deliver,
        requirements=requirements,
        parameters={"Precision": precision, **given},
        while_locked=registered(state),
        synced=say_with_time,
    )

    def greet(url: str) -> None:
        for line in _greeting(stack, state, actions, url):
            say(line)
        LocalStack(pid=os.getpid(), editor=url, environment=stack.environment).write(state)

    watch, reloader = _Watch(stack, say), Reloader(stack, lambda line: say_with_time(f"      {line}"))
    try:
        with (
            ended_by_signal(),
            stack,
            _repeated(watch.check, every=_LOG_EVERY),
            _repeated(reloader.check, every=_SOURCES_EVERY),
        ):
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
    say(f"stopped; the queue is kept in {state}")


def _greeting(stack: EmbeddedStack, state: Path, actions: str | None, url: str) -> Iterator[str]:
    deliveries = stack.deliveries()
    none = "only the deliveries below" if deliveries else _NO_ACTIONS
    yield f"page     {url}"
    yield f"stack    {stack.endpoint_url}  (state and log in {state})"
    yield f"worker   {f'{actions}, reloaded when its sources change' if actions else none}"
    yield from (f"delivery {one.name} to {one.target.shown}" for one in deliveries)
    if stack.intake_url:
        yield f"intake   {stack.intake_url}"
    yield "`duebell local stop`, or Ctrl-C in its terminal, stops it and keeps what is in the queue"
    yield from ways_in(state, stack.environment)


def start(state: Path, arguments: Sequence[str]) -> str:
    """Start `duebell` with these arguments in the background; return what it printed once it is ready.

    It goes on when this process ends. Raises AlreadyRunning, and EmbeddedStackFailed with its error, and ends
    it if this call is interrupted.
    """
    clear(state)
    with StateFolder(state):  # refuses a folder that is in use, and makes it private
        pass
    output = state / _OUTPUT
    with output.open("wb") as log:
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-P", "-m", "duebell", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
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
    raise EmbeddedStackFailed(
        said[-1].removeprefix("error: ") if said else f"it ended at once (see {output})"
    )


def wait(state: Path, *, limit: float) -> LocalStack:
    """Return when the stack of this folder is ready, which another process starts.

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
    """End the `duebell local` of this folder, and return when all is kept; False if none runs.

    Raises EmbeddedStackFailed if it does not end.
    """
    note = LocalStack.read(state)
    if note is None:
        return False
    is_running = _is_running(state)
    if is_running:
        with suppress(ProcessLookupError):
            os.kill(note.pid, signal.SIGTERM)
    give_up = time.monotonic() + _STOP_LIMIT
    # Also if it was killed: then MiniStack, which holds the folder too, may still write its state.
    while True:
        try:
            with StateFolder(state):
                LocalStack.delete(state)
                return is_running
        except EmbeddedStackFailed:
            if time.monotonic() > give_up:
                raise
        time.sleep(_PAUSE)


def clear(state: Path) -> None:
    """Wait for what a `duebell local` that was killed has left: MiniStack still writes its state then.

    Raises AlreadyRunning if one runs.
    """
    note = LocalStack.read(state)
    if note and _is_running(state):
        way_in, end = _command(state, "--name local status"), _command(state, "local stop")
        if not note.editor:
            raise AlreadyRunning(f"the stack in {state} is starting already: `{end}` ends it")
        raise AlreadyRunning(
            f"the stack in {state} runs already, its page at {note.editor}: `{way_in}` reaches it, `{end}` "
            f"ends it"
        )
    if note:
        stop(state)


def ways_in(state: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """Lines that say how the command line and services reach the stack of this folder."""
    yield "in another terminal, the command line reaches it with --name local:"
    yield f"  {_command(state, '--name local add ACTION --in 2m')}"
    yield "and your services, the command line too, with:"
    yield "  export " + " ".join(f"{name}={value}" for name, value in environment.items())


def _command(state: Path, arguments: str) -> str:
    """A command for the stack of this folder, which it names unless it is the usual one."""
    is_usual = state.resolve() == Path(os.environ.get(STATE_VARIABLE, STATE)).resolve()
    return f"{'' if is_usual else f'{STATE_VARIABLE}={shlex.quote(str(state))} '}duebell {arguments}"


def _ready(state: Path) -> LocalStack | None:
    """The note of the stack of this folder; None if none is ready."""
    note = LocalStack.read(state)
    return note if note and note.editor and _is_running(state) else None


def _is_running(state: Path) -> bool:
    """Tell whether a process runs the stack of this folder."""
    try:
        with (state / _PROCESS).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        pass
    return False


@contextmanager
def registered(state: Path) -> Iterator[None]:
    """Hold the lock of this process, and keep its note, inside the context; the folder must be locked."""
    LocalStack.delete(state)  # first: who finds the lock held ends the process of the note
    with (state / _PROCESS).open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # at once, but for somebody who tests it now
        LocalStack(pid=os.getpid()).write(state)
        try:
            yield
        finally:
            LocalStack.delete(state)


@contextmanager
def _repeated(check: Callable[[], None], *, every: float) -> Iterator[None]:
    """Make the check again and again inside the context, in a thread."""
    is_over = threading.Event()

    def run() -> None:
        while not is_over.wait(every):
            check()

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
    """Reloads the worker when a source file of its actions changes, and says in a line what came of it.

    Make it before the stack is started: what changes from then on is loaded.
    """

    def __init__(self, stack: EmbeddedStack, say: Callable[[str], None]) -> None:
        self._stack = stack
        self._say = say
        self._files = stack.sources()
        self._loaded = self._before = _states_of(self._files)

    def check(self) -> None:
        """Reload the worker if its sources have changed, and did not change since the last call."""
        now = _states_of(self._files)
        if now != self._loaded and now == self._before:
            self._reload(sorted(file.name for file in self._files if self._loaded[file] != now[file]))
            self._files = self._stack.sources() or self._files
            # A file that was known before the reload counts as of then: it may have changed meanwhile.
            self._loaded = {path: now.get(path, state) for path, state in _states_of(self._files).items()}
        self._before = now

    def _reload(self, changed: list[str]) -> None:
        try:
            self._stack.reload()
        except Exception as error:  # noqa: BLE001 (whatever is wrong with it, the next change is looked for)
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
