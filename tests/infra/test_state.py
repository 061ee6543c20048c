"""The state folder: one stack at a time, and no trace of it in the user's repository."""

import os
import stat
from pathlib import Path

import pytest

from duebell_infra.errors import EmbeddedStackFailed
from duebell_infra.local.state import StateFolder


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    with StateFolder(tmp_path), pytest.raises(EmbeddedStackFailed, match="in use"), StateFolder(tmp_path):
        pass


def test_git_does_not_see_it(tmp_path: Path) -> None:
    with StateFolder(tmp_path / "new" / "state") as state:
        assert (state.path / ".gitignore").read_text() == "*\n"


def test_a_place_that_cannot_be_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EmbeddedStackFailed, match="cannot be used"), StateFolder(tmp_path / "file"):
        pass


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_folder_is_for_its_owner_only_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with StateFolder(tmp_path / "state") as state:
            assert mode_of(state.path) == 0o700
            assert mode_of(state.path / "key") == 0o600
    finally:
        os.umask(before)


@pytest.mark.parametrize("mode", [0o755, 0o1777])
def test_a_folder_that_was_open_to_others_is_closed(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    (folder / "key").write_text("test\n")
    (folder / "key").chmod(0o666)
    folder.chmod(mode)
    with StateFolder(folder) as state:
        assert mode_of(folder) == 0o700
        assert mode_of(folder / "key") == 0o600
        assert state.key != "test"


def test_a_folder_of_another_user_is_refused_and_left_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    folder.chmod(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)  # as another user sees it
    with pytest.raises(EmbeddedStackFailed, match="belongs to another user"), StateFolder(folder):
        pass
    assert mode_of(folder) == 0o755
    assert list(folder.iterdir()) == []


def test_a_file_system_that_keeps_no_rights_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    folder.chmod(0o777)
    monkeypatch.setattr(os, "fchmod", lambda *_: None)
    with pytest.raises(EmbeddedStackFailed, match="its file system"), StateFolder(folder):
        pass


def test_a_folder_that_fails_to_open_is_free_again(tmp_path: Path) -> None:
    (tmp_path / "key").mkdir()
    with pytest.raises(EmbeddedStackFailed, match="cannot be used"), StateFolder(tmp_path):
        pass
    (tmp_path / "key").rmdir()
    with StateFolder(tmp_path):
        pass
