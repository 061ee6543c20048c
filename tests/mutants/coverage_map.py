"""A map from tests to the functions of the product that they call; the plugin for pytest that makes it.

python -m pytest -p tests.mutants.coverage_map   writes it to the folder that DUEBELL_COVERAGE_MAP names
"""

import json
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from .source import PACKAGES

__all__ = ["CoverageMap"]

_FOLDER = "DUEBELL_COVERAGE_MAP"

#: The name of a function: its file, from the root, and its first line.
_Function = tuple[str, int]


@dataclass
class CoverageMap:
    """The calls and the seconds of each test that passes alone."""

    calls: dict[str, set[_Function]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> "CoverageMap":
        """Read the map from the folder, where one process or several wrote it."""
        found = cls()
        prepared: defaultdict[str, set[_Function]] = defaultdict(set)
        for part in sorted(folder.glob("*.jsonl")):
            for line in part.read_text().splitlines():
                test, seconds, called, prepared_by = json.loads(line)
                found.seconds[test] = seconds
                found.calls[test] = {(file, number) for file, number in called}
                prepared[_file_of(test)] |= {(file, number) for file, number in prepared_by}
        for test, called in found.calls.items():
            called.update(prepared[_file_of(test)])  # fixtures are shared by the tests of a file
        return found

    def tests_of(self, file: str, function: int, limit: float) -> tuple[list[str], int]:
        """Tests that call it, those that call least else first, for so many seconds; and how many there are.

        function  its first line; 0 for what is done when the module is imported

        What no test calls may be called at import: then tests that call any function of the file are taken.
        """
        tests = [test for test, called in self.calls.items() if (file, function) in called]
        if not tests:
            tests = [test for test, called in self.calls.items() if any(file == one for one, _ in called)]
        tests.sort(key=lambda test: (len(self.calls[test]), self.seconds[test]))
        chosen: list[str] = []
        for test in tests:
            limit -= self.seconds[test]
            if chosen and limit < 0:
                break
            chosen.append(test)
        return chosen, len(tests)


def _seconds() -> float:
    """The clock that measures tests. Libraries that freeze the time leave this function as it is."""
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def _file_of(test: str) -> str:
    return test.partition("::")[0]


class _Plugin:
    """Notes each function of the product that is called during a test, in whatever thread."""

    def __init__(self, out: Path, root: Path) -> None:
        self._out = out
        self._root = f"{root}{os.sep}"
        self._names: dict[int, _Function | None] = {}
        self._kept: list[object] = []  # so that no other code gets the id of one that is known
        self._called: set[int] = set()
        self._prepared: set[int] = set()
        threading.settrace(self._trace)
        sys.settrace(self._trace)

    def _trace(self, frame: FrameType, _: str, __: Any) -> None:
        number = id(frame.f_code)
        if number not in self._called:
            if number not in self._names:
                self._kept.append(frame.f_code)
                self._names[number] = self._name(frame)
            self._called.add(number)

    def _name(self, frame: FrameType) -> _Function | None:
        code = frame.f_code
        file = code.co_filename.removeprefix(self._root)
        if file == code.co_filename or file.partition(os.sep)[0] not in PACKAGES:
            return None
        return file, code.co_firstlineno

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Iterator[None]:
        self._called.clear()
        self._prepared.clear()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        sys.settrace(self._trace)  # somebody may have set another
        result = yield
        self._prepared = self._called.copy()
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        started = _seconds()
        result = yield
        seconds = _seconds() - started
        line = [
            item.nodeid,
            round(seconds, 3),
            self._functions(self._called),
            self._functions(self._prepared),
        ]
        with self._out.open("a") as out:
            out.write(json.dumps(line) + "\n")
        return result

    def _functions(self, called: set[int]) -> list[_Function]:
        return sorted({name for number in called.copy() if (name := self._names[number])})


def pytest_configure(config: pytest.Config) -> None:
    """Begin, if there is a folder to write to. Of pytest-xdist's processes each writes a file."""
    is_controller = bool(config.getoption("numprocesses", 0)) and "PYTEST_XDIST_WORKER" not in os.environ
    if (folder := os.environ.get(_FOLDER)) and not is_controller:
        out = Path(folder) / f"{os.environ.get('PYTEST_XDIST_WORKER', 'main')}.jsonl"
        config.pluginmanager.register(_Plugin(out, config.rootpath))
