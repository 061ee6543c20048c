"""CONTRIBUTING.md names files that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
FOLDERS = ("duebell", "editor", "worker", "shared", "infra", "tests")


def test_the_files_that_it_names_exist() -> None:
    names = set(re.findall(r"`([\w/]+\.(?:py|js|html|yaml|md))`", PAGE))
    there = [file.as_posix() for folder in FOLDERS for file in (ROOT / folder).rglob("*.*")]
    missing = [
        name
        for name in names
        if not (ROOT / name).exists() and not any(file.endswith(f"/{name}") for file in there)
    ]
    assert len(names) > 20
    assert not missing


def test_the_commands_that_it_names_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z]+)", PAGE)) <= targets
