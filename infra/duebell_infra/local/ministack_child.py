"""MiniStack behind its guard, tied to the process that started it: runs as a script, never imported.

Its arguments are the descriptor of the socket that it listens on, and the file for the functions' log. The
environment holds the rest, the access key included.

Standard input is a pipe that the parent holds open and never writes to. When it ends, the parent is gone,
whatever ended it, and MiniStack stops as it does on SIGTERM: it writes its state first.
"""

import asyncio
import os
import queue
import resource
import signal
import sys
import threading
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

#: Seconds that a connection may be idle, as MiniStack's own command has it.
_KEEP_ALIVE = 75


def _stop_when_the_parent_is_gone() -> None:
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _end_running_functions() -> None:
    """End the functions that still run, as Lambda does when their time is up."""
    if os.getpgrp() == os.getpid():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.killpg(0, signal.SIGTERM)


def _allow_many_connections() -> None:
    """Raise the limit of open files as far as allowed: every connection is one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # macOS does not allow what it names as its limit
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _copy_lines(file: TextIO) -> None:
    """Copy each line that a function writes to this file as it comes, with the time before it.

    Problem: MiniStack shows what a function writes only when its invocation has ended, all at one time.
    Solution: where it keeps the lines until then, they are written to the file first.
    """
    lock = threading.Lock()

    def copy(line: str) -> None:
        with lock, suppress(OSError, ValueError):  # full, or closed at the end
            file.write(f"{datetime.now(UTC).isoformat(timespec='milliseconds')} {line}\n")

    class Copied(queue.Queue[str]):
        def put(self, item: str, block: bool = True, timeout: float | None = None) -> None:
            copy(item)
            super().put(item, block, timeout)

    try:
        from ministack.core.lambda_runtime import (  # type: ignore[import-untyped]  # noqa: PLC0415
            Worker,
        )

        read = Worker._read_stderr  # noqa: SLF001
    except (ImportError, AttributeError):
        copy("this version of MiniStack shows the worker's log only in CloudWatch Logs: install another one")
        return

    def read_and_copy(worker: Any) -> None:
        worker._stderr_queue = Copied()  # noqa: SLF001
        read(worker)

    Worker._read_stderr = read_and_copy  # noqa: SLF001


def _serve(listener: int) -> None:
    """Serve MiniStack's application behind the guard until SIGTERM."""
    from hypercorn.asyncio import serve  # noqa: PLC0415 (the parent is watched while they are imported)
    from hypercorn.config import Config  # noqa: PLC0415
    from ministack.app import app  # type: ignore[import-untyped]  # noqa: PLC0415

    # Behind the installed packages, for where this one is not installed but found by its parent's path.
    sys.path.append(str(Path(__file__).parents[2]))
    from .guard import Guard  # noqa: PLC0415

    config = Config()
    config.bind = [f"fd://{listener}"]
    config.keep_alive_timeout = _KEEP_ALIVE
    guarded: Any = Guard(app, key=os.environ["AWS_ACCESS_KEY_ID"], port=int(os.environ["GATEWAY_PORT"]))
    asyncio.run(serve(guarded, config))


if __name__ == "__main__":
    threading.Thread(target=_stop_when_the_parent_is_gone, daemon=True).start()
    try:
        _allow_many_connections()
        with Path(sys.argv[2]).open("a", buffering=1, encoding="utf-8", errors="backslashreplace") as log:
            _copy_lines(log)
            _serve(int(sys.argv[1]))
    finally:
        _end_running_functions()
