"""The worker is reloaded when its sources change; what is wrong with the new version is said."""

import os
from pathlib import Path
from typing import Any, cast

import pytest

from duebell_infra.errors import BundleFailed
from duebell_infra.local.service import Reloader


class Stack:
    """A stack whose reload has these results, one after the other."""

    def __init__(self, sources: set[Path]) -> None:
        self.results: list[bool | Exception] = []
        self.files = sources
        self.reloads = 0

    def sources(self) -> set[Path]:
        return self.files

    def reload(self) -> bool:
        self.reloads += 1
        result = self.results.pop(0) if self.results else True
        if isinstance(result, Exception):
            raise result
        return result


@pytest.fixture
def stack(tmp_path: Path) -> Stack:
    for name in ("jobs.py", "payloads.py"):
        (tmp_path / name).write_text("")
    return Stack({tmp_path / "jobs.py", tmp_path / "payloads.py"})


class Reloads:
    """A reloader of the stack, and what it said."""

    def __init__(self, stack: Stack) -> None:
        self.said: list[str] = []
        self._reloader = Reloader(cast("Any", stack), self.said.append)

    def check_twice(self) -> None:
        """Check twice: a change counts when no other follows."""
        self._reloader.check()
        self._reloader.check()


@pytest.fixture
def reloads(stack: Stack) -> Reloads:
    return Reloads(stack)


def change(file: Path) -> None:
    """Change the file, also where the clock of the file system is coarse."""
    file.write_text(file.read_text() + "#")
    os.utime(file, ns=(1, 1))


def test_a_change_is_loaded_and_said(tmp_path: Path, stack: Stack, reloads: Reloads) -> None:
    change(tmp_path / "payloads.py")
    reloads.check_twice()
    assert reloads.said == ["the worker is reloaded: payloads.py changed"]
    assert stack.reloads == 1


def test_a_version_that_cannot_be_loaded_is_said_and_the_next_is_loaded(
    tmp_path: Path, stack: Stack, reloads: Reloads
) -> None:
    stack.results = [BundleFailed("no module 'x'"), SyntaxError("invalid syntax")]
    for number in range(3):
        change(tmp_path / "jobs.py")
        os.utime(tmp_path / "jobs.py", ns=(number + 2, number + 2))
        reloads.check_twice()
    kept = "the worker is not reloaded, and the one before goes on: "
    assert reloads.said == [
        f"{kept}no module 'x'",
        f"{kept}SyntaxError: invalid syntax",
        "the worker is reloaded: jobs.py changed",
    ]


def test_a_change_that_makes_no_other_worker_is_said_too(
    tmp_path: Path, stack: Stack, reloads: Reloads
) -> None:
    # Given a mistake that is saved, and put back
    stack.results = [BundleFailed("no module 'x'"), False, False]
    for number in range(2):
        change(tmp_path / "jobs.py")
        os.utime(tmp_path / "jobs.py", ns=(number + 2, number + 2))
        reloads.check_twice()
    # And a file in the folder that is no part of the worker
    (tmp_path / "notes.txt").touch()
    reloads.check_twice()
    assert reloads.said[1:] == [
        f"the worker stays as it is: {what} changed, and makes the version that runs already"
        for what in ("jobs.py", "the folder of its sources")
    ]


def test_a_change_during_a_reload_is_loaded_after_it(tmp_path: Path, stack: Stack, reloads: Reloads) -> None:
    reload_of_now = stack.reload

    def reload_slowly() -> bool:
        if not stack.reloads:
            os.utime(tmp_path / "jobs.py", ns=(9, 9))
        return reload_of_now()

    vars(stack)["reload"] = reload_slowly
    change(tmp_path / "jobs.py")
    reloads.check_twice()
    reloads.check_twice()
    assert reloads.said == 2 * ["the worker is reloaded: jobs.py changed"]
