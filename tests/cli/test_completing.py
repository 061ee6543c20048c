"""What the shell offers on Tab: bounded, and silent whatever happens."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, cast
from unittest import mock

import pytest
import typer
from typer.main import get_command

from duebell import Editor
from duebell_editor.cli import options as completion
from duebell_editor.cli.context import Context, profiles
from duebell_editor.cli.program import app
from tests.cli.program import Duebell, fail

pytestmark = pytest.mark.slow


def context(command: str, *options: str) -> typer.Context:
    """What typer hands to a completion: the command, and the options before it."""
    program: Any = get_command(app)
    root = program.make_context("duebell", [*options, command], resilient_parsing=True)
    call = program.get_command(root, command).make_context(command, [], parent=root, resilient_parsing=True)
    return cast(typer.Context, call)


@pytest.fixture
def four(duebell: Duebell, editor: Editor) -> Editor:
    for id, action in (("sale-1", "put"), ("sale-2", "take"), ("other", "put"), ("bad", "put")):
        duebell("add", action, "--in", "1h", "--id", id)
    fail(editor, "bad")
    return editor


@pytest.mark.usefixtures("four")
def test_ids_and_actions_are_those_that_are_there(duebell: Duebell) -> None:
    assert completion.ids(context("show"), "sale") == ["sale-1", "sale-2"]
    assert completion.ids(context("retry"), "") == ["bad"]
    assert completion.actions(context("list"), "") == ["put", "take"]
    duebell("pause", "other")
    assert completion.ids(context("resume"), "") == ["other"]


def test_an_error_offers_nothing_and_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with mock.patch.object(Context, "editor", side_effect=ZeroDivisionError):
        assert completion.ids(context("show"), "") == []
    assert capfd.readouterr() == ("", "")


def test_nobody_waits_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completion, "_PATIENCE", 0.01)
    never = threading.Event()
    try:
        with mock.patch.object(Context, "editor", side_effect=never.wait):
            assert completion.ids(context("show"), "") == []
    finally:
        never.set()


@pytest.mark.usefixtures("duebell")
def test_options_before_the_command_say_where_to_look() -> None:
    call = context("show", "--region", "mars-north-1")
    completion.ids(call, "")
    assert Context.of(call).account.session.region_name == "mars-north-1"


def test_zones_and_profiles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert "Europe/Berlin" in completion.zones("Europe/B")
    config = tmp_path / "config"
    config.write_text("[profile one]\n[profile other]\n[profile two]\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    assert profiles("o") == ["one", "other"]


def complete(words: str, at_word: int) -> list[str]:
    """What bash is offered, as its completion function asks the program."""
    code = "import sys; sys.argv[0] = 'duebell'; from duebell_infra.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "_DUEBELL_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(at_word),
            "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_is_offered_commands_statuses_and_zones() -> None:
    assert complete("duebell re", 1) == ["resume", "retry", "relane"]
    assert complete("duebell list --status ca", 3) == ["cancelled"]
    assert "Europe/Berlin" in complete("duebell add x --timezone Europe/B", 4)
    # And nothing, quickly and quietly, where nobody answers
    assert complete("duebell show a", 2) == []
