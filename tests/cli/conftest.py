"""Fixtures for the command line's tests: the program over the library on moto."""

import io
import logging
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from duebell import Editor
from duebell_editor.cli.context import Context
from duebell_editor.cli.program import run
from tests.cli.program import Duebell, Outcome
from tests.support import Clock

#: The environment variables that name AWS's addresses.
ACCOUNT = (
    "DUEBELL_NAME",
    "DUEBELL_STATE",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_DYNAMODB",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
)


@pytest.fixture
def duebell(
    editor: Editor,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> Iterator[Duebell]:
    """The program `duebell`: arguments in; exit status, stdout and stderr out."""
    monkeypatch.setattr(Context, "editor", lambda _, **__: editor)
    monkeypatch.setattr(Context, "now", lambda _: clock())
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "user-state"))
    time.tzset()
    for name in ACCOUNT:  # what options change is put back as it was
        monkeypatch.setenv(name, os.environ.get(name, ""))
        if not os.environ[name]:
            monkeypatch.delenv(name)

    def run_it(*arguments: str, stdin: str | bytes | io.BytesIO = "") -> Outcome:
        text = stdin.encode() if isinstance(stdin, str) else stdin
        given = io.BytesIO(text) if isinstance(text, bytes) else text
        monkeypatch.setattr(sys, "argv", ["duebell", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(given, encoding="utf-8"))
        with pytest.raises(SystemExit) as raised:
            run()
        assert isinstance(raised.value.code, int)
        return Outcome(raised.value.code, *capsys.readouterr())

    loggers = [logging.getLogger(f"duebell.{name}") for name in ("http", "audit", "editor")]
    before = [(logger.handlers, logger.level, logger.propagate) for logger in loggers]
    yield run_it
    for logger, (handlers, level, propagate) in zip(loggers, before, strict=True):
        logger.handlers, logger.level, logger.propagate = handlers, level, propagate
    monkeypatch.undo()
    time.tzset()
