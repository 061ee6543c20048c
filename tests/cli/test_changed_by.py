"""Who changed a task: the command line says who is at this machine, and shows what was said."""

import getpass
import os
import socket

import pytest

from duebell import Editor
from duebell_editor.cli.account import caller
from duebell_editor.cli.context import Context
from tests.cli.program import Duebell

# The fixture `duebell` puts an editor of its own in the place of this one.
real_editor = Context.editor


@pytest.fixture
def anna(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "anna")
    monkeypatch.setattr(socket, "gethostname", lambda: "laptop")


@pytest.mark.usefixtures("anna")
def test_a_command_says_who_is_at_this_machine(
    duebell: Duebell, editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert real_editor(Context()).changed_by == "anna@laptop via cli"
    assert real_editor(Context(), by="http").changed_by == "anna@laptop via http"
    assert real_editor(Context(), by=None).changed_by is None
    # And what the environment says wins
    monkeypatch.setenv("DUEBELL_CHANGED_BY", "night shift")
    assert real_editor(Context()).changed_by == "night shift"
    # And it is kept by what a command changes
    monkeypatch.setattr(Context, "editor", lambda _: editor.acting_as("anna@laptop via cli"))
    assert duebell("add", "x", "--in", "1h", "--id", "a").status == 0
    assert duebell("pause", "a").status == 0
    assert editor.get("a").changed_by == "anna@laptop via cli"


def test_a_user_without_a_name_is_told_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_name() -> str:
        raise KeyError("getpwuid(): uid not found: 4711")

    monkeypatch.setattr(getpass, "getuser", no_name)
    monkeypatch.setattr(os, "getuid", lambda: 4711)
    monkeypatch.setattr(socket, "gethostname", lambda: "a\x1b" + "b" * 200)
    said = caller("cli")
    assert said is not None
    assert said.startswith("uid 4711@a?bbb")
    assert len(said) == 128
