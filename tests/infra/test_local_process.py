"""The process of `duebell local`: its note, waiting for it, ending it, by another process or by signals."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from duebell_editor.cli.local_note import LocalNote
from duebell_infra.errors import AlreadyRunning, EmbeddedStackFailed
from duebell_infra.local import service
from duebell_infra.local.ministack import HOST, refuse_taken
from duebell_infra.local.service import serve, start, stop, wait
from duebell_infra.local.signals import Ended, ended_by_signal
from duebell_infra.local.state import StateFolder
from duebell_shared.settings import Precision

#: Holds the folder and its note as `duebell local` does. It ends in order at SIGTERM.
HOLDER = """
import os, signal, sys
from pathlib import Path
from duebell_editor.cli.local_note import LocalNote
from duebell_infra.local.signals import Ended, ended_by_signal
from duebell_infra.local.state import StateFolder
state = Path(sys.argv[1])
try:
    with ended_by_signal(), StateFolder(state):
        here = {"AWS_REGION": "here"}
        LocalNote(pid=os.getpid(), editor="http://127.0.0.1:1/", environment=here).write(state)
        print("ready", flush=True)
        signal.pause()
except Ended:
    (state / "kept").touch()
"""


@contextmanager
def running(state: Path) -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(state)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def test_stop_ends_it_in_order(state: Path) -> None:
    with running(state) as process:
        assert wait(state, limit=0).environment == {"AWS_REGION": "here"}
        assert stop(state)
        assert process.wait() == 0
        assert (state / "kept").exists()
    assert LocalNote.read(state) is None
    assert not stop(state)


def test_one_that_was_killed_blocks_nothing(state: Path) -> None:
    with running(state) as process:
        process.kill()
        process.wait()
    assert LocalNote.read(state)
    # Also while its MiniStack, which holds the folder, still writes its state
    with StateFolder(state), pytest.raises(EmbeddedStackFailed, match="no stack is ready"):
        wait(state, limit=0)
    assert not stop(state)
    assert LocalNote.read(state) is None


def test_a_process_that_has_its_number_since_is_neither_ended_nor_taken_for_it(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a stack that was killed, whose note has the number of this process, as in a container
    with running(state) as process:
        note = LocalNote.read(state)
        assert note
        process.kill()
        process.wait()
    msgspec.structs.replace(note, pid=os.getpid()).write(state)
    told: list[int] = []
    monkeypatch.setattr(os, "kill", lambda *_: told.append(1))
    # Then it is not ended
    assert not stop(state)
    assert not told
    # Nor is its note that of another stack, which is starting
    msgspec.structs.replace(note, pid=os.getpid()).write(state)
    with StateFolder(state), pytest.raises(EmbeddedStackFailed, match="no stack is ready"):
        wait(state, limit=0)


def test_one_that_does_not_end_is_said(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "_STOP_LIMIT", 0.0)
    with running(state) as process:
        process.send_signal(signal.SIGSTOP)
        with pytest.raises(EmbeddedStackFailed, match="does not end"):
            stop(state)
    # Nor is one that is starting called one that does not run
    with StateFolder(state), pytest.raises(EmbeddedStackFailed, match="does not end"):
        stop(state)


def test_a_second_start_is_refused_before_its_ports_are(state: Path) -> None:
    given: Any = {"actions": None, "deliver": None, "intake": None, "requirements": None}
    ports: Any = {"port": 4803, "editor_port": 4804}
    with running(state), socket.create_server(("127.0.0.1", 4804)), pytest.raises(AlreadyRunning):
        serve(state, **ports, **given, precision=Precision.MINUTE, say=print)


def test_a_start_in_the_background_that_fails_tells_why(
    state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    with socket.create_server((HOST, 0)) as taken:
        at = f"--editor-port={taken.getsockname()[1]}"
        with pytest.raises(SystemExit, match="1"):
            start(state, ["local", "--state", str(state), at])
    assert re.search(r"^error: .* cannot be used .* --editor-port", capsys.readouterr().err)
    with pytest.raises(SystemExit, match="1"):
        start(state, ["local", "--state", str(state), "--port=4803", "--editor-port=4803"])
    assert "cannot both have port 4803: choose another" in capsys.readouterr().err
    with StateFolder(state), pytest.raises(EmbeddedStackFailed, match="runs already"):
        start(state, [])


def test_a_note_is_found_from_a_folder_below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DUEBELL_STATE", raising=False)
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    (tmp_path / ".duebell").mkdir()
    assert LocalNote.find() is None
    note = LocalNote(pid=1, editor="http://127.0.0.1:1/", environment={})
    note.write(tmp_path / ".duebell")
    assert LocalNote.find() == note

    # And in the folder that the variable names, only there
    monkeypatch.setenv("DUEBELL_STATE", str(tmp_path / "elsewhere"))
    assert LocalNote.find() is None


@pytest.mark.parametrize("text", ["", "{", '{"pid": "x"}', "[]"])
def test_a_note_that_cannot_be_read_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "local.json").write_text(text)
    assert LocalNote.read(tmp_path) is None


def test_a_note_of_another_user_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    LocalNote(pid=1, editor="http://127.0.0.1:1/", environment={}).write(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    assert LocalNote.read(tmp_path) is None


def test_a_second_signal_does_not_cut_short_what_the_first_one_began() -> None:
    before, tidied = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGINT)
            tidied.append("all")

    with pytest.raises(Ended), ended_by_signal():
        work()
    assert tidied == ["all"]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_port_that_somebody_has_is_refused_with_the_option_that_chooses_another() -> None:
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(EmbeddedStackFailed, match=rf"port {port} cannot be used \(.*\): .* --stack-port"):
            refuse_taken(port, option="--stack-port")


def test_what_nohup_ignores_ends_nothing() -> None:
    former = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with ended_by_signal():
        signal.raise_signal(signal.SIGHUP)
    signal.signal(signal.SIGHUP, former)
