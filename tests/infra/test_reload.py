"""The worker is reloaded when its sources change; what is wrong with the new version is said."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from duebell_infra.errors import BundleFailed
from duebell_infra.local.service import Reloader


class Stack:
    """A stack whose first reloads fail so, one after the other; and what its reloader says."""

    def __init__(self, sources: set[Path]) -> None:
        self.failures: list[Exception] = []
        self.files = sources
        self.begun = time.time_ns() + 10**12
        self.reloads = 0
        self.said: list[str] = []

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


def reloader_of(stack: Stack) -> Callable[[], None]:
    """Have a reloader check twice: a change counts when no other follows."""
    reloader = Reloader(cast("Any", stack), stack.said.append)

    def check_twice() -> None:
        reloader.check()
        reloader.check()

    return check_twice


def change(file: Path) -> None:
    """Change the file, also where the clock of the file system is coarse."""
    file.write_text(file.read_text() + "#")
    os.utime(file, ns=(1, 1))


def test_a_change_is_loaded_and_said(tmp_path: Path, stack: Stack) -> None:
    check_twice = reloader_of(stack)
    change(tmp_path / "payloads.py")
    check_twice()
    assert stack.said == ["the worker is reloaded: payloads.py changed"]
    assert stack.reloads == 1


def test_a_version_that_cannot_be_loaded_is_said_and_the_next_is_loaded(tmp_path: Path, stack: Stack) -> None:
    check_twice = reloader_of(stack)
    stack.failures = [BundleFailed("no module 'x'"), SyntaxError("invalid syntax")]
    for number in range(3):
        change(tmp_path / "jobs.py")
        os.utime(tmp_path / "jobs.py", ns=(number + 2, number + 2))
        check_twice()
    kept = "the worker is not reloaded, and the one before goes on: "
    assert stack.said == [
        f"{kept}no module 'x'",
        f"{kept}SyntaxError: invalid syntax",
        "the worker is reloaded: jobs.py changed",
    ]


def test_a_change_during_a_reload_is_loaded_after_it(tmp_path: Path, stack: Stack) -> None:
    check_twice, reload_of_now = reloader_of(stack), stack.reload

    def reload_slowly() -> None:
        if not stack.reloads:
            os.utime(tmp_path / "jobs.py", ns=(9, 9))
        reload_of_now()

    vars(stack)["reload"] = reload_slowly
    change(tmp_path / "jobs.py")
    check_twice()
    check_twice()
    assert stack.said == 2 * ["the worker is reloaded: jobs.py changed"]


def test_what_was_saved_while_the_stack_started_is_loaded(tmp_path: Path, stack: Stack) -> None:
    os.utime(tmp_path / "jobs.py", ns=(stack.begun, stack.begun))
    check_twice = reloader_of(stack)
    check_twice()
    check_twice()
    assert stack.said == ["the worker is reloaded: jobs.py changed"]
