"""`duebell local` as a process, also in the background: how it starts, reloads, ends and starts again."""

import os
import shlex
import signal
import subprocess
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from duebell import Editor, Settings, Status
from duebell_editor.cli.local_note import LocalNote
from duebell_infra.errors import EmbeddedStackFailed
from duebell_infra.local.ministack import HOST, free_port, refuse_taken
from duebell_infra.local.stack import EmbeddedStack
from duebell_infra.local.state import StateFolder
from duebell_shared.instants import utc_now
from tests.e2e.support import ACTIONS, HERE, LocalCommand, duebell, local_command, wait_for

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


def test_a_task_whose_minute_passed_while_the_stack_was_stopped_runs_after_the_start(tmp_path: Path) -> None:
    with EmbeddedStack(tmp_path, actions=ACTIONS, folder=HERE) as stack:
        editor = Editor(stack.settings, session=stack.session)
        editor.add("succeed", due=timedelta(minutes=1), id="missed")
        rings_at = editor.status().rings_at
    wait_for(lambda: rings_at and utc_now() > rings_at)
    with EmbeddedStack(tmp_path, actions=ACTIONS, folder=HERE) as stack:
        editor = Editor(stack.settings, session=stack.session)
        wait_for(lambda: editor.get("missed").status is Status.DONE)
        wait_for(lambda: editor.status().rings_at is None)


def test_an_action_at_work_ends_with_the_stack(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    with EmbeddedStack(tmp_path / "state", actions=ACTIONS, folder=HERE) as stack:
        editor = Editor(stack.settings, session=stack.session)
        payload = {"starts": str(starts), "gate": str(tmp_path / "closed")}
        editor.add("pass_gate", due=NOW, payload=payload)
        stack.session.client("lambda").invoke(FunctionName="duebell", InvocationType="Event")
        wait_for(lambda: starts.exists() and starts.read_text())
    _, process = starts.read_text().split()
    wait_for(lambda: not Path("/proc", process).exists())


NOW = timedelta(0)

JOBS = """
import logging
from pathlib import Path
from duebell import Worker
from words import WORD

worker = Worker.from_env()

@worker.action("speak")
def speak(payload):
    print("printed", WORD)
    logging.info("logged %s", WORD)
    while not Path(payload["gate"]).exists():
        pass

@worker.recurring("rate(30 days)")
@worker.action
def tidy(): ...
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "jobs.py").write_text(JOBS)
    (folder / "words.py").write_text("WORD = 'first'")
    return folder


def test_it_runs_in_the_background_until_it_is_stopped(project: Path) -> None:
    ports = ("--port", str(free_port()), "--editor-port", str(free_port()))
    began = duebell("local", "--detach", "--actions", "jobs:worker", *ports, folder=project)
    try:
        assert (began.returncode, began.stderr) == (0, "")
        # It tells what it changed of the recurring tasks that the code declares
        assert "  sync  add tidy (tidy, rate(30 days))\n" in began.stdout
        assert duebell("local", "wait", "--timeout", "1", folder=project).returncode == 0
        # A second one says that it is there, and ends with a status of its own
        again = duebell("local", "--detach", *ports, folder=project)
        assert again.returncode == 4
        page = next(line for line in began.stdout.splitlines() if line.startswith("page "))
        assert again.stdout.splitlines() == [page, *began.stdout.splitlines()[-4:]]
        assert "runs already: end it with `duebell local stop`" in again.stderr
        # Services reach it with the line that is printed
        note = LocalNote.read(project / ".duebell")
        assert note
        exported = shlex.split(next(line for line in began.stdout.splitlines() if "  export " in line))
        assert dict(one.split("=", 1) for one in exported[1:]) == note.environment
        # The command line finds it by its name, also from a folder below
        (project / "below").mkdir()
        added = duebell(
            "--name", "local", "add", "speak", "--in", "1d", "--id", "later", folder=project / "below"
        )
        assert (added.returncode, added.stderr) == (0, "")
    finally:
        stopped = duebell("local", "stop", folder=project)
    assert stopped.returncode == 0
    assert stopped.stdout.startswith("stopped")
    assert LocalNote.read(project / ".duebell") is None
    assert "none is running" in duebell("local", "stop", folder=project).stdout


def test_the_log_comes_at_once_and_a_change_is_loaded(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(project))
    monkeypatch.syspath_prepend(project)
    with local_command(tmp_path / "state", "--actions", "jobs:worker") as command:
        editor = Editor(Settings(function="duebell"), session=command.session)

        def speak(id: str) -> Path:
            gate = tmp_path / id
            editor.add("speak", due=NOW, id=id, payload={"gate": str(gate)})
            return gate

        # The output of an action is shown while it runs
        gate = speak("one")
        wait_for(lambda: "logged first" in command.printed, patience=60)
        assert "printed first" in command.printed
        assert editor.get("one").status is Status.RUNNING
        gate.touch()
        wait_for(lambda: "id=one action=speak attempt=1 outcome=done" in command.printed, patience=60)

        # A traceback names the file
        editor.add("speak", due=NOW, id="wrong", payload={})
        wait_for(lambda: "id=wrong action=speak attempt=1 outcome=retried" in command.printed, patience=60)
        failure = editor.get("wrong").failure
        assert failure
        assert 'jobs.py", line ' in failure.traceback
        editor.cancel("wrong")

        # A module that cannot be loaded is said, and the one before goes on
        (project / "words.py").write_text("import no_such_module_anywhere")
        wait_for(lambda: "is not reloaded" in command.printed, patience=60)
        assert "no_such_module_anywhere" in command.printed
        speak("two").touch()
        wait_for(lambda: editor.get("two").status is Status.DONE, patience=60)
        wait_for(lambda: command.printed.count("logged first") == 3, patience=60)

        # When the mistake is put back, it is loaded again
        (project / "words.py").write_text("WORD = 'first'")
        wait_for(lambda: "is reloaded: words.py changed" in command.printed, patience=60)

        # And what can be loaded is
        (project / "words.py").write_text("WORD = 'second'")
        wait_for(lambda: command.printed.count("is reloaded: words.py changed") == 2, patience=60)
        speak("three").touch()
        wait_for(lambda: "logged second" in command.printed, patience=60)

        # Recurring tasks that it declares are changed, too, and that is said
        assert "sync  add tidy (tidy, rate(30 days))" in command.printed
        (project / "jobs.py").write_text(JOBS.replace("30 days", "5 minutes"))
        wait_for(lambda: "is reloaded: jobs.py changed" in command.printed, patience=60)
        said = command.printed.rpartition("sync  change tidy (tidy, rate(5 minutes)), schedule\n")[2]
        # Once, whatever a run that began meanwhile says in between
        assert "sync  the rule rings by" in said
        assert said.count("rings by") == 1
