"""The state folder and the session of a stack: nothing that another user or the environment could plant."""

import os
import stat
from pathlib import Path

import pytest

from duebell_infra.errors import EmbeddedStackFailed
from duebell_infra.local.ministack import REGION, embedded_session
from duebell_infra.local.state import StateFolder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A state folder that is there already."""
    folder = tmp_path / "state"
    folder.mkdir()
    return folder


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def key_in(folder: Path) -> str:
    """The key of a stack that is started in this folder now."""
    with StateFolder(folder) as state:
        return state.key


def test_a_new_folder_is_for_its_owner_only_and_not_for_git(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with StateFolder(tmp_path / "new" / "state") as state:
            assert (mode_of(state.path), mode_of(state.path / "key")) == (0o700, 0o600)
            assert (state.path / ".gitignore").read_text() == "*\n"
    finally:
        os.umask(before)


def test_what_cannot_be_the_folder_is_refused_and_free_afterwards(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EmbeddedStackFailed, match="cannot be used"), StateFolder(tmp_path / "file"):
        pass
    (folder / "key").mkdir()
    with pytest.raises(EmbeddedStackFailed, match="other files"), StateFolder(folder):
        pass
    assert [one.name for one in folder.iterdir()] == ["key"]
    (folder / "lock").touch()
    with pytest.raises(EmbeddedStackFailed, match="cannot be used"), StateFolder(folder):
        pass
    (folder / "key").rmdir()
    with StateFolder(folder), pytest.raises(EmbeddedStackFailed, match="runs already"), StateFolder(folder):
        pass


def test_a_folder_that_was_open_to_others_is_closed(folder: Path) -> None:
    folder.chmod(0o1777)
    key_in(folder)
    assert mode_of(folder) == 0o700


def test_a_folder_of_another_user_is_refused_and_left_as_it_was(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.chmod(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)  # as another user sees it
    with pytest.raises(EmbeddedStackFailed, match="belongs to another user"), StateFolder(folder):
        pass
    assert mode_of(folder) == 0o755
    assert list(folder.iterdir()) == []


def test_a_file_system_that_keeps_no_rights_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.chmod(0o777)
    monkeypatch.setattr(os, "fchmod", lambda *_: None)
    with pytest.raises(EmbeddedStackFailed, match="its file system"), StateFolder(folder):
        pass


def test_each_stack_has_its_own_key_and_keeps_it(tmp_path: Path) -> None:
    keys = {name: key_in(tmp_path / name) for name in ("one", "other")}
    assert len(set(keys.values())) == 2
    # An access key by its form: AWS allows 16 to 128 letters and digits
    assert all(len(key) == 39 and key.isalnum() for key in keys.values())
    assert key_in(tmp_path / "one") == keys["one"]


@pytest.mark.parametrize("mode", [0o640, 0o602])
def test_a_key_that_others_could_read_or_write_is_replaced(folder: Path, mode: int) -> None:
    key = key_in(folder)
    (folder / "key").chmod(mode)
    assert key_in(folder) != key
    assert mode_of(folder / "key") == 0o600


def test_a_link_and_a_pipe_are_not_read_but_replaced(folder: Path, tmp_path: Path) -> None:
    elsewhere = key_in(tmp_path / "elsewhere")
    key_in(folder)
    (folder / "key").unlink()
    (folder / "key").symlink_to(tmp_path / "elsewhere" / "key")
    assert key_in(folder) != elsewhere
    (folder / "key").unlink()
    os.mkfifo(folder / "key", 0o600)
    assert len(key_in(folder)) == 39


def test_the_environment_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "AWS_PROFILE": "production",
        "AWS_ENDPOINT_URL_DYNAMODB": "http://elsewhere.invalid",
        "AWS_SESSION_TOKEN": "mine",
        "HTTP_PROXY": "http://proxy.invalid:3128",
    }.items():
        monkeypatch.setenv(name, value)
    here, key = "http://127.0.0.1:4599", "DUEBELL1234"

    session = embedded_session(here, key)
    client = session.client("dynamodb")

    assert (client.meta.endpoint_url, client.meta.region_name) == (here, REGION)
    assert getattr(client.meta.config, "proxies", None) == {}
    assert (credentials := session.get_credentials())
    # The key is the token, too: MiniStack gives functions its own token, and wants the same from all
    assert (credentials.access_key, credentials.token) == (key, key)
