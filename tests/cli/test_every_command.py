"""What goes for every command, and the one that goes on."""

import os
from unittest import mock

import pytest

from duebell_editor import Editor
from duebell_editor.cli import watching
from duebell_shared import errors
from tests.cli.program import Duebell


def test_where_aws_is_can_be_said(duebell: Duebell, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL"):
        monkeypatch.setenv(name, "before")
    given = ("--profile", "p", "--region", "mars-north-1", "--endpoint-url", "http://127.0.0.1:1")
    assert duebell(*given, "preview", "rate(1 hour)").status == 0
    assert [os.environ[name] for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION")] == [
        "p",
        "mars-north-1",
        "mars-north-1",
    ]
    assert os.environ["AWS_ENDPOINT_URL"] == "http://127.0.0.1:1"


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
