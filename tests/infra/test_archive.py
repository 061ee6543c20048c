"""The zip: its bytes depend on names, contents and execute bits, and on nothing else."""

import io
import os
import zipfile
from pathlib import Path

from duebell_infra.bundle.bundle import pack


def files_in(folder: Path, names: list[str]) -> dict[str, Path]:
    folder.mkdir()
    files = {}
    for name in names:
        files[name] = folder / name
        files[name].write_text(f"# {name}\n")
    return files


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    one = files_in(tmp_path / "one", ["b.py", "a.py"])
    other = files_in(tmp_path / "other", ["a.py", "b.py"])
    os.utime(other["a.py"], (10**9, 10**9))
    other["b.py"].chmod(0o600)

    assert pack(one) == pack(other)


def test_everyone_may_read_what_is_in_it_and_run_what_can_be_run(tmp_path: Path) -> None:
    files = files_in(tmp_path / "one", ["a.py", "tool"])
    files["a.py"].chmod(0o600)
    files["tool"].chmod(0o700)

    with zipfile.ZipFile(io.BytesIO(pack(files))) as archive:
        modes = {entry.filename: entry.external_attr >> 16 & 0o777 for entry in archive.infolist()}
    assert modes == {"a.py": 0o644, "tool": 0o755}
