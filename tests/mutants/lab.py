"""Where mutants live: a copy of the source and its tests, in which one line at a time is broken."""

import difflib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from .mutant import Killer, Mutant
from .source import PACKAGES, ROOT

__all__ = ["Lab"]

#: What is copied: the packages, the tests, and what pytest and the tests read beside them.
_COPIED = (*PACKAGES, "tests", "examples", "bench", "docs", "pyproject.toml", "Makefile")

#: Seconds. A mutant that makes its tests go on for ever is noticed, too.
_LIMIT = 300.0


class Lab:
    """A copy, gone when the context is left. The working tree is never touched."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="duebell-mutants-")
        self.root = Path(self._folder.name)

    def __enter__(self) -> Self:
        for name in _COPIED:
            source, copy = ROOT / name, self.root / name
            if source.is_dir():
                shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
            elif source.exists():
                shutil.copy(source, copy)
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def passes(self, killer: Killer) -> str | None:
        """None if these tests pass here; else the last they said."""
        path = os.pathsep.join(str(self.root / name) for name in (".", *PACKAGES))
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                [sys.executable, *killer.command],
                cwd=self.root,
                env=environment,
                capture_output=True,
                text=True,
                timeout=_LIMIT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "went on for ever"
        if done.returncode == 0:
            return None
        said = [
            line
            for line in done.stdout.splitlines()
            if line.startswith(("FAILED tests", "ERROR tests", "seed"))
        ]
        return (said or [(done.stderr or done.stdout).strip()[-300:]])[0]

    def killed_by(self, mutant: Mutant) -> tuple[Killer, str] | None:
        """Which tests notice the mutant, and what they say; None if it survives them all."""
        with self._broken(mutant):
            for killer in mutant.killers:
                if said := self.passes(killer):
                    return killer, said
        return None

    @contextmanager
    def _broken(self, mutant: Mutant) -> Iterator[None]:
        place = mutant.place()
        file = self.root / place.module.name
        file.write_text(place.replaced(mutant.broken))
        try:
            yield
        finally:
            file.write_text(place.module.source)

    @staticmethod
    def difference(mutant: Mutant) -> str:
        """The mutant as a diff."""
        place = mutant.place()
        before, after = place.module.source.splitlines(), place.replaced(mutant.broken).splitlines()
        name = place.module.name
        return "\n".join(difflib.unified_diff(before, after, name, name, lineterm="", n=2))
