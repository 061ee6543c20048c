"""What goes for every command, and the one that goes on."""

from unittest import mock

import pytest

from duebell_editor import Editor
from duebell_editor.cli import watching
from duebell_shared import errors
from tests.cli.program import Duebell


def test_watch_looks_again_and_again(
    duebell: Duebell, monkeypatch: pytest.MonkeyPatch, editor: Editor
) -> None:
    duebell("add", "x", "--in", "1h", "--id", "soon")
    looks = 0

    def look(seconds: float) -> None:
        nonlocal looks
        looks += 1
        assert seconds == 5
        if looks == 1:
            editor.add("x", due=editor._clock(), id="new")
            return
        if looks == 2:
            monkeypatch.setattr(editor, "status", mock.Mock(side_effect=errors.AwsUnavailable("throttled")))
            return
        raise KeyboardInterrupt

    monkeypatch.setattr(watching.watch, "__kwdefaults__", {"sleep": look})
    status, out, _ = duebell("watch", "--every", "5")
    assert status == 130
    assert "AWS does not answer, trying again: throttled" in out
