"""Fixtures for the command line's tests: the program over the library on moto."""

import io
import sys
import time
from collections.abc import Iterator

import pytest

from duebell_editor import Editor
from duebell_editor.cli import app, at, run
from tests.cli.program import Duebell, Outcome
from tests.support import Clock


@pytest.fixture
def duebell(
    editor: Editor, clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Duebell]:
    """The program `duebell`: arguments in; exit status, stdout and stderr out."""
    monkeypatch.setattr(at, "editor", lambda: editor)
    monkeypatch.setattr(at, "now", clock)
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()

    def run_it(*arguments: str, stdin: str = "") -> Outcome:
        monkeypatch.setattr(sys, "argv", ["duebell", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        with pytest.raises(SystemExit) as raised:
            run(app)
        assert isinstance(raised.value.code, int)
        return Outcome(raised.value.code, *capsys.readouterr())

    yield run_it
    monkeypatch.undo()
    time.tzset()
