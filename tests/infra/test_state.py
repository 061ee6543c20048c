"""The state folder: one stack at a time, and no trace of it in the user's repository."""

from pathlib import Path

import pytest

from duebell_infra.errors import EmbeddedStackFailed
from duebell_infra.state import StateFolder


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    with StateFolder(tmp_path), pytest.raises(EmbeddedStackFailed, match="in use"), StateFolder(tmp_path):
        pass


def test_it_is_free_again_afterwards(tmp_path: Path) -> None:
    with StateFolder(tmp_path):
        pass
    with StateFolder(tmp_path):
        pass


def test_git_does_not_see_it(tmp_path: Path) -> None:
    with StateFolder(tmp_path / "new" / "state") as state:
        assert (state.path / ".gitignore").read_text() == "*\n"


def test_a_place_that_cannot_be_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EmbeddedStackFailed, match="cannot be used"), StateFolder(tmp_path / "file"):
        pass
