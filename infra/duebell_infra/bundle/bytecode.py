"""The compiled files of a bundle: a cold start would else compile all that it imports, each time.

Lambda's copy of a bundle is read-only, so Python cannot keep there what it compiles.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from .archive import Files
from .target import Target

__all__ = ["compiled_files", "python_for"]

_CHILD = Path(__file__).with_name("bytecode_child.py")

#: Lambda unpacks bundles there. Tracebacks show these paths.
#: https://docs.aws.amazon.com/lambda/latest/dg/python-package.html
_ROOT = "/var/task"

#: Both decide on the bytes: the order of sets, and modules that the user's environment would bring.
_ENVIRONMENT = {"PYTHONHASHSEED": "0"}


def python_for(target: Target) -> str | None:
    """The interpreter on this machine that compiles for the target's Python; None if there is none."""
    if sys.implementation.name == "cpython" and target.python == f"3.{sys.version_info.minor}":
        return sys.executable
    return shutil.which(f"python{target.python}")


def compiled_files(files: Files, target: Target, folder: Path) -> Files:
    """The compiled files of these sources, for the target's Python, written to this folder.

    None of what this Python cannot compile; none at all if there is no such Python here. Python takes each
    without a look at its source, which no one changes there. The same sources give the same bytes.
    """
    python = python_for(target)
    sources = {
        name: str(file) for name, file in files.items() if name.endswith(".py") and file.stat().st_size
    }
    if python is None or not _compile(python, sources, target, folder):
        return {}
    return {file.relative_to(folder).as_posix(): file for file in folder.rglob("*.pyc")}


def _compile(python: str, sources: Mapping[str, str], target: Target, folder: Path) -> bool:
    """Compile them in a process of its own; False if it is not that Python.

    In another process, because what a compiled file looks like depends on what else its process holds.
    """
    asked = {
        "python": target.python,
        "root": _ROOT,
        "folder": str(folder),
        "sources": dict(sorted(sources.items())),
    }
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    done = subprocess.run(  # noqa: S603
        [python, "-B", "-P", "-s", "-S", str(_CHILD)],
        input=json.dumps(asked).encode(),
        env={**kept, **_ENVIRONMENT},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode == 0
