"""Shared by the end-to-end tests: waiting for a condition, and `duebell local` as a process."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import boto3

from duebell_infra.local.ministack import embedded_session, free_port

T = TypeVar("T")

#: The module of these tests' actions, and their names.
HERE = Path(__file__).parent
ACTIONS = "actions_for_tests:worker"

#: Seconds. A rule rings at the latest two minutes after a task is added; machines can be busy.
PATIENCE = 240.0

#: The last line that `duebell local` prints before it serves.
READY = "  export "


def wait_for(condition: Callable[[], T], *, patience: float = PATIENCE) -> T:
    """The first true value that `condition` gives; AssertionError if there is none in time."""
    give_up = time.monotonic() + patience
    while not (value := condition()):
        assert time.monotonic() < give_up, "it did not happen in time"
        time.sleep(0.2)
    return value


class LocalCommand:
    """`duebell local` on free ports, with what it prints."""

    def __init__(self, state: Path, *arguments: str) -> None:
        self.port, self.editor_port = free_port(), free_port()
        self.output = state.with_suffix(".out")
        ports = ["--port", str(self.port), "--editor-port", str(self.editor_port)]
        with self.output.open("w") as output:
            self.process = subprocess.Popen(
                [*COMMAND, "local", "--state", str(state), *ports, *arguments],
                cwd=Path(__file__).parent,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @property
    def printed(self) -> str:
        return self.output.read_text()

    @property
    def environment(self) -> dict[str, str]:
        """The variables that the line to copy sets."""
        [line] = [line for line in self.printed.splitlines() if line.strip().startswith("export ")]
        pairs = (one.partition("=") for one in line.split()[1:])
        return {name: value for name, _, value in pairs}

    @property
    def session(self) -> boto3.Session:
        """As somebody has it who copied that line."""
        given = self.environment
        return embedded_session(given["AWS_ENDPOINT_URL"], given["AWS_ACCESS_KEY_ID"])

    def wait_till_ready(self) -> None:
        wait_for(lambda: READY in self.printed or self.process.poll() is not None, patience=60)
        assert self.process.poll() is None, self.printed

    def end(self, number: signal.Signals = signal.SIGINT) -> int:
        """Send the signal; the exit status."""
        self.process.send_signal(number)
        return self.process.wait(60)


COMMAND = [sys.executable, "-c", "from duebell_infra.cli import main; main()"]


def duebell(
    *arguments: str,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    timeout: int = 120,
) -> "subprocess.CompletedProcess[str]":
    """The end of the program `duebell` with these arguments, called in this folder."""
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **(environment or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


@contextmanager
def local_command(state: Path, *arguments: str) -> Iterator[LocalCommand]:
    """`duebell local`, serving; ended in order if the test has not done so."""
    command = LocalCommand(state, *arguments)
    try:
        command.wait_till_ready()
        yield command
    finally:
        if command.process.poll() is None:
            command.end()
