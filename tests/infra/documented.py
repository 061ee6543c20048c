"""The files that a page of the docs shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

__all__ = ["ROOT", "pytest_in", "run", "written"]

ROOT = Path(__file__).parents[2]

#: A file is a block whose first line is a comment with its name.
_FILE = re.compile(r"```(?:go|java|js|python|sh|toml)\n(?:#|//) (\S+)\n(.*?)```", re.DOTALL)


def written(page: Path, folder: Path) -> None:
    """Write the page's files into this folder."""
    for name, content in _FILE.findall(page.read_text(encoding="utf-8")):
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(content, encoding="utf-8")


def run(folder: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run Python with these arguments in this folder."""
    given = {name: value for name, value in os.environ.items() if not name.startswith(("DUEBELL", "PYTEST"))}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**given, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def pytest_in(folder: Path, *arguments: str, **environment: str) -> str:
    """The output of pytest in this folder, by default of all but what needs the whole stack."""
    chosen = arguments or ("--ignore", "test_stack.py")
    done = run(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen, **environment)
    return done.stdout + done.stderr
