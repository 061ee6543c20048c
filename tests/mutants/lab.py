"""The lab of the mutants: a copy of the source and its tests, in which one piece at a time is broken."""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import cache_from_source
from pathlib import Path
from typing import Self

from .catalogue import Mutant
from .source import PACKAGES, ROOT, place_of

#: The copy has no history, no installations, and no files that tests and builds leave.
_LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv*", ".mutants", ".hypothesis", ".*_cache", "__pycache__", "node_modules"
)

#: Simulated histories that a mutant must pass to survive them.
_HISTORIES = "tests.simulation.play --scenario plain --over twin --count 400 --start 0"

#: Seconds. A mutant that makes its tests go on for ever is noticed, too.
_LIMIT = 300.0


class Lab:
    """A copy, gone when the context is left. The working tree is never touched."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="duebell-mutants-")
        self.root = Path(self._folder.name)

    def __enter__(self) -> Self:
        shutil.copytree(ROOT, self.root, ignore=_LEFT_OUT, dirs_exist_ok=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def run(
        self, *arguments: str, limit: float = _LIMIT, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a module of Python here. Raises subprocess.TimeoutExpired after so many seconds."""
        folders = (".", *(name for name in PACKAGES if name != "duebell"))  # that is a package itself
        path = os.pathsep.join(str(self.root / name) for name in folders)
        return subprocess.run(
            [sys.executable, "-m", *arguments],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "", **environment},
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
        )

    def fails(self, tests: str) -> str | None:
        """None if these tests pass here; else the last they said. For `tests` see Mutant."""
        pytest = ("pytest", *shlex.split(tests), "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")
        try:
            done = self.run(*(_HISTORIES.split() if tests == "histories" else pytest))
        except subprocess.TimeoutExpired:
            return "went on for ever"
        if done.returncode == 0:
            return None
        said = failures(done) or [line for line in done.stdout.splitlines() if line.startswith("seed")]
        return (said or [(done.stderr or done.stdout).strip()[-300:]])[0]

    def killed_by(self, mutant: Mutant) -> str | None:
        place, count = place_of(mutant.source, mutant.within)
        with self.broken(place.module, place.replaced(mutant.broken, count)):
            return self.fails(mutant.tests)

    @contextmanager
    def broken(self, module: str, source: str) -> Iterator[None]:
        whole = (self.root / module).read_text()
        self._write(module, source)
        try:
            yield
        finally:
            self._write(module, whole)

    def _write(self, module: str, source: str) -> None:
        """Write the module, and delete its byte code: Python trusts it if size and second are the same."""
        file = self.root / module
        file.write_text(source)
        Path(cache_from_source(str(file))).unlink(missing_ok=True)


def failures(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stdout.splitlines() if line.startswith(("FAILED tests", "ERROR tests"))]
