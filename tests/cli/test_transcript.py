"""Whole outputs of the commands, for people and for programs: see `transcript.txt`."""

import re
import shlex
from pathlib import Path

import pytest

from duebell import Editor
from duebell.testing import Rehearsal
from duebell_editor.cli.context import Context
from tests import transcript
from tests.cli.program import Duebell


@pytest.fixture
def stage() -> Rehearsal:
    return transcript.stage()


@pytest.fixture
def editor(stage: Rehearsal) -> Editor:
    return stage.editor.acting_as("anna")


def test_outputs_are_as_they_were(
    duebell: Duebell, stage: Rehearsal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Context, "now", lambda _: stage.now)
    monkeypatch.setenv("COLUMNS", "100")

    def ask(line: str) -> str:
        call, _, given = line.partition(" <<< ")
        stdin = "".join(f"{text}\n" for text in shlex.split(given))
        status, out, err = duebell(*shlex.split(call)[1:], stdin=stdin)
        told = re.sub(r"(?m) +$", "", out) + re.sub(r"(?m)^(?=.)", "! ", err)
        return told + (f"[{status}]\n" if status else "")

    transcript.check(Path(__file__).with_name("transcript.txt"), stage, ask)
