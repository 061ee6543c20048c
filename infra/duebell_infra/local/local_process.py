"""The process of `duebell local`: started in the background, waited for, and ended from another one."""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

import msgspec

from duebell_editor.cli.local_stack import STATE, STATE_VARIABLE, LocalStack
from duebell_infra.errors import AlreadyRunning, EmbeddedStackFailed

from .state import StateFolder

__all__ = ["Registration", "clear", "start", "stop", "wait", "ways_in"]

#: Seconds between looks.
_PAUSE = 0.1
#: Seconds that the process has to end: MiniStack writes its state before.
_STOP_LIMIT = 120.0

#: The file of the state folder that holds the output of the process in the background.
_OUTPUT = "local.log"


class Registration:
    """Keeps this process's note in the state folder inside the context; the folder must be locked."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._note = LocalStack(pid=os.getpid(), began=_began(os.getpid()))

    def __enter__(self) -> Self:
        self._note.write(self._state)
        return self

    def __exit__(self, *exception: object) -> None:
        LocalStack.delete(self._state)

    def is_ready(self, editor: str, environment: dict[str, str], synced: Sequence[str] = ()) -> None:
        """Tell others that everything is ready, how to reach it, and what the start changed in the queue."""
        self._note = msgspec.structs.replace(
            self._note, editor=editor, environment=environment, synced=tuple(synced)
        )
        self._note.write(self._state)


def start(state: Path, options: Sequence[str]) -> LocalStack:
    """Start `duebell local` with these options in the background; return when it is ready.

    It goes on when this process ends. Raises AlreadyRunning, and EmbeddedStackFailed with its error, and ends
    it if this call is interrupted.
    """
    clear(state)
    with StateFolder(state):  # refuses a folder that is in use, and makes it private
        pass
    output = state / _OUTPUT
    with output.open("wb") as log:
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-P", "-m", "duebell", "local", "--state", str(state), *options],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        while True:
            ended = process.poll() is not None
            note = LocalStack.read(state)
            if note and note.pid == process.pid and note.editor:
                return note
            if ended:
                said = output.read_text(errors="replace").strip().splitlines()
                why = said[-1].removeprefix("error: ") if said else f"it ended at once (see {output})"
                raise EmbeddedStackFailed(why)
            time.sleep(_PAUSE)
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        raise


def wait(state: Path, *, limit: float, clock: Callable[[], float] = time.monotonic) -> LocalStack:
    """Return when the stack of this folder is ready, which another process starts.

    Raises EmbeddedStackFailed after `limit` seconds.
    """
    give_up = clock() + limit
    while True:
        note = LocalStack.read(state)
        if note and note.editor and _is_alive(note):
            return note
        if clock() >= give_up:
            raise EmbeddedStackFailed(
                f"no stack is ready in {state} after {limit:g} seconds: `duebell local --detach` starts one"
            )
        time.sleep(_PAUSE)


def stop(state: Path) -> bool:
    """End the `duebell local` of this folder, and return when all is kept; False if none runs.

    Only the process that wrote the note is ended, never another one that has its number since. Raises
    EmbeddedStackFailed if it does not end.
    """
    note = LocalStack.read(state)
    if note is None:
        return False
    was_alive = _end(note)
    give_up = time.monotonic() + _STOP_LIMIT
    # Also if it was killed: then MiniStack, which holds the folder too, may still write its state.
    while True:
        try:
            with StateFolder(state):
                if LocalStack.read(state) == note:
                    LocalStack.delete(state)
                return was_alive
        except EmbeddedStackFailed:
            now = LocalStack.read(state)
            if now and now.pid != note.pid:
                return was_alive  # another one has been started
            if time.monotonic() > give_up:
                raise
        time.sleep(_PAUSE)


def clear(state: Path) -> None:
    """Wait for what a `duebell local` that was killed has left: MiniStack still writes its state then.

    Raises AlreadyRunning if one runs.
    """
    note = LocalStack.read(state)
    if note and _is_alive(note):
        way_in, end = _command(state, "--name local status"), _command(state, "local stop")
        if not note.editor:
            raise AlreadyRunning(f"the stack in {state} is starting already: `{end}` ends it")
        raise AlreadyRunning(
            f"the stack in {state} runs already, its editor at {note.editor}: `{way_in}` reaches it, `{end}` "
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


def _end(note: LocalStack) -> bool:
    """Send SIGTERM to the process of the note; False if it is gone."""
    if not hasattr(os, "pidfd_open"):
        if _is_alive(note):
            os.kill(note.pid, signal.SIGTERM)
            return True
        return False
    try:
        # The descriptor is of the process that has the number now, and stays so: no other one can be meant
        # between the look and the signal.
        process = os.pidfd_open(note.pid)
    except ProcessLookupError:
        return False
    try:
        if not _is_alive(note):
            return False
        signal.pidfd_send_signal(process, signal.SIGTERM)
    except ProcessLookupError:
        return False
    finally:
        os.close(process)
    return True


def _is_alive(note: LocalStack) -> bool:
    return bool(note.began) and _began(note.pid) == note.began


def _began(pid: int) -> str:
    """The start of the process with this number, as the system tells it; empty if there is none."""
    try:
        # proc(5): the name may hold anything; after it comes the third field. The 22nd is the start.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()} {fields[19]}"
    except OSError:
        if Path("/proc/self/stat").exists():
            return ""
    told = subprocess.run(  # noqa: S603
        ["/bin/ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return told.stdout.strip()
