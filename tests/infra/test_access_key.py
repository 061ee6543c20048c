"""The access key of a stack: random, kept, and replaced as soon as another user could know it."""

import os
import stat
from pathlib import Path

import pytest

from duebell_infra.local.state import access_key


def mode_of(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "key"


def test_each_stack_has_its_own(tmp_path: Path) -> None:
    keys = {access_key(tmp_path / str(number)) for number in range(20)}
    assert len(keys) == 20
    # And it is an access key by its form: AWS allows 16 to 128 letters and digits
    assert all(16 <= len(key) <= 128 and key.isalnum() for key in keys)


@pytest.mark.parametrize("mode", [0o640, 0o602])
def test_one_that_others_could_read_or_write_is_replaced(file: Path, mode: int) -> None:
    key = access_key(file)
    file.chmod(mode)
    assert access_key(file) != key
    assert mode_of(file) == 0o600


@pytest.mark.parametrize("text", ["", "short", "test\n", "DUEBELL" + "0" * 31, "DUEBELL" + "g" * 32, "ÿ"])
def test_one_that_is_damaged_is_replaced(file: Path, text: str) -> None:
    file.touch(0o600)
    file.write_text(text)
    key = access_key(file)
    assert len(key) == 39
    assert access_key(file) == key


def test_a_link_is_not_followed_but_replaced(file: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    planted = access_key(elsewhere)
    file.symlink_to(elsewhere)
    assert access_key(file) != planted
    assert not file.is_symlink()
    assert elsewhere.read_text() == f"{planted}\n"


def test_a_pipe_does_not_block_but_is_replaced(file: Path) -> None:
    os.mkfifo(file, 0o600)
    access_key(file)
    assert file.is_file()


def test_one_that_another_user_made_is_replaced(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = access_key(file)
    monkeypatch.setattr(os, "geteuid", lambda: file.stat().st_uid + 1)  # as that user sees it
    assert access_key(file) != key


def test_a_place_that_cannot_be_written_is_an_error_and_leaves_nothing(file: Path) -> None:
    file.mkdir()
    with pytest.raises(OSError, match="directory"):
        access_key(file)
    assert list(file.parent.iterdir()) == [file]
