"""Whole outputs of the commands, for people and for programs: see `transcript.txt`."""

import io
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from duebell import Editor
from duebell.testing import Rehearsal
from duebell_editor import http
from duebell_editor.cli.context import Context
from tests import transcript
from tests.cli.program import Duebell


class Typed(io.BytesIO):
    """The input of a person at a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def stage() -> Rehearsal:
    return transcript.stage()


@pytest.fixture
def editor(stage: Rehearsal) -> Editor:
    return stage.editor.acting_as("anna")


@pytest.mark.usefixtures("own_log")
def test_outputs_are_as_they_were(
    duebell: Duebell, stage: Rehearsal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Context, "now", lambda _: stage.now)
    for room in ("adder", "change_many"):  # the same calls fail each time
        monkeypatch.setattr(f"duebell_editor.library.{room}._THREADS", 1)

    backend = stage.editor._backend

    def serve(_: Editor, *, started: Callable[[str], None], **given: Any) -> None:
        started("http://127.0.0.1:1/")
        print(given)

    monkeypatch.setattr(http, "serve", serve)

    def ask(line: str) -> str:
        call, _, given = line.partition(" <<< ")
        stdin: Any = io.BytesIO("".join(f"{text}\n" for text in shlex.split(given)).encode())
        width, _, called = call.rpartition("duebell ")
        with monkeypatch.context() as patch:
            patch.setenv("COLUMNS", width.strip() if width.strip().isdigit() else "100")
            for name in ("NO_COLOR", "COLORTERM"):
                patch.delenv(name, raising=False)
            if ":" in width:  # the first calls of a method of the store fail
                name, times = width.strip().split(":")
                patch.setattr(backend.store, name, transcript.failing(backend.store, name, int(times)))
            elif width:  # on a terminal
                patch.setenv("FORCE_COLOR", "1")
                patch.setenv("TERM", "xterm")
                patch.setattr(sys.stderr, "isatty", lambda: True)
                stdin = Typed(stdin.getvalue()) if given else stdin
            status, out, err = duebell(*shlex.split(called), stdin=stdin)
        told = re.sub(r"(?m) +$", "", out.removeprefix(" ")) + re.sub(r"(?m)^(?=.)", "! ", err)
        told = re.sub("\x1b\\[(.*?)m", r"<\1>", told)
        told = told if told.endswith("\n") or not told else f"{told}\n"
        return told + (f"[{status}]\n" if status else "")

    transcript.check(Path(__file__).with_name("transcript.txt"), stage, ask)
