"""The worker is reloaded when its sources change; what is wrong with the new version is said."""

import os
import time
from pathlib import Path
from typing import Any, cast

import pytest

from duebell_infra.errors import BundleFailed
from duebell_infra.local.service import Reloader


class Stack:
    """A stack whose first reloads fail so, one after the other."""

    def __init__(self, sources: set[Path]) -> None:
        self.failures: list[Exception] = []
        self.files = sources
        self.begun = time.time_ns() + 10**12
        self.reloads = 0

    def sources(self) -> set[Path]:
        return self.files

    def reload(self) -> None:
        self.reloads += 1
        if self.failures:
            raise self.failures.pop(0)


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
    stack.failures = [BundleFailed("no module 'x'"), SyntaxError("invalid syntax")]
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


def test_a_change_during_a_reload_is_loaded_after_it(tmp_path: Path, stack: Stack, reloads: Reloads) -> None:
    reload_of_now = stack.reload

    def reload_slowly() -> None:
        if not stack.reloads:
            os.utime(tmp_path / "jobs.py", ns=(9, 9))
        reload_of_now()

    vars(stack)["reload"] = reload_slowly
    change(tmp_path / "jobs.py")
    reloads.check_twice()
    reloads.check_twice()
    assert reloads.said == 2 * ["the worker is reloaded: jobs.py changed"]


def test_what_was_saved_while_the_stack_started_is_loaded(tmp_path: Path, stack: Stack) -> None:
    os.utime(tmp_path / "jobs.py", ns=(stack.begun, stack.begun))
    reloads = Reloads(stack)
    reloads.check_twice()
    reloads.check_twice()
    assert reloads.said == ["the worker is reloaded: jobs.py changed"]
