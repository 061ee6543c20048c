"""`duebell local` as a process: how it starts, what it refuses, how it ends, what it keeps."""

import os
import re
import signal
import subprocess
import urllib.error
import urllib.request
from datetime import UTC, datetime
from pathlib import Path

import pytest

from duebell import Editor, Settings
from duebell_infra.errors import EmbeddedStackFailed
from duebell_infra.local.ministack import HOST, free_port, refuse_taken
from duebell_infra.local.state import StateFolder
from tests.e2e.support import ACTIONS, LocalCommand, duebell, local_command, wait_for

pytestmark = pytest.mark.e2e

LATER = datetime(2100, 1, 1, tzinfo=UTC)
WITH_ACTIONS = ("--actions", ACTIONS)


def test_it_serves_ends_in_order_and_has_what_is_in_the_queue_again(tmp_path: Path) -> None:
    with local_command(tmp_path / "state") as command:
        assert "every task will fail" in command.printed
        with urllib.request.urlopen(f"http://{HOST}:{command.editor_port}/api/status") as answer:
            assert answer.status == 200
        Editor(Settings(), session=command.session).add("succeed", due=LATER, id="later")
        before = Editor(Settings(), session=command.session).status()
        assert command.end(signal.SIGTERM) == 0
        assert "Traceback" not in command.printed
        assert is_free(command.port)

    with local_command(tmp_path / "state", *WITH_ACTIONS) as command:
        editor = Editor(Settings(), session=command.session)
        assert editor.get("later").due == LATER
        assert editor.status().expression == before.expression


def test_nothing_is_left_or_lost_when_it_is_killed(tmp_path: Path) -> None:
    with local_command(tmp_path / "state", *WITH_ACTIONS) as command:
        Editor(Settings(), session=command.session).add("succeed", due=LATER, id="later")
        assert command.end(signal.SIGKILL) == -signal.SIGKILL
        wait_for(lambda: is_free(command.port), patience=60)
        wait_for(lambda: is_unlocked(tmp_path / "state"), patience=60)

    # And its actions are those that were given before, unless others are
    with local_command(tmp_path / "state") as command:
        assert Editor(Settings(), session=command.session).get("later").due == LATER
        assert "actions_for_tests:worker" in command.printed


def test_a_taken_port_is_refused(tmp_path: Path) -> None:
    with local_command(tmp_path / "state") as command:
        state, port, editor_port = str(tmp_path / "other"), str(command.port), str(command.editor_port)
        free, other = str(free_port()), str(free_port())
        ours = ("--state", state)
        assert re.search(rf"port {port} .* --port", refusal(*ours, "--port", port, "--editor-port", other))
        given = ("--port", free, "--editor-port", editor_port)
        assert re.search(rf"port {editor_port} .* --editor-port", refusal(*ours, *given))


def test_it_ends_when_the_stack_dies(tmp_path: Path) -> None:
    with local_command(tmp_path / "state") as command:
        children = subprocess.run(
            ["pgrep", "-P", str(command.process.pid), "-f", "ministack_child"],
            capture_output=True,
            text=True,
            check=True,
        )
        os.kill(int(children.stdout), signal.SIGKILL)

        assert command.process.wait(60) == 1
        assert command.printed.splitlines()[-1].startswith("error: MiniStack has ended by itself")


def test_a_failure_to_start_stops_everything(tmp_path: Path) -> None:
    command = LocalCommand(tmp_path / "state", "--actions", "no_such_module:worker")

    assert command.process.wait(60) == 1
    assert command.printed.startswith("error: there is no module 'no_such_module'")
    assert command.printed.count("\n") == 1
    assert is_free(command.port)


def refusal(*arguments: str) -> str:
    """The one line that `duebell local` says when it does not start."""
    done = duebell("local", *arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    return done.stderr


def is_free(port: int) -> bool:
    try:
        refuse_taken(port)
    except EmbeddedStackFailed:
        return False
    return True


def is_unlocked(state: Path) -> bool:
    try:
        with StateFolder(state):
            return True
    except EmbeddedStackFailed:
        return False
