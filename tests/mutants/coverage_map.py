"""A map from tests to the functions of the product that they call; the plugin for pytest that makes it.

python -m pytest -p tests.mutants.coverage_map   writes it to the folder that DUEBELL_COVERAGE_MAP names
"""

import json
import os
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import msgspec
import pytest

from tests.imports import imported_by_modules

from .source import PACKAGES, ROOT

#: Tests that may call a function only since they came first in their process.
_FEW = 3

#: The name of a function: its file, from the root, and its first line.
_Function = tuple[str, int]


class CoverageMap(msgspec.Struct):
    """The calls and the seconds of each test that passes alone."""

    calls: dict[str, set[_Function]] = {}
    seconds: dict[str, float] = {}

    @classmethod
    def read(cls, folder: Path) -> "CoverageMap":
        found = cls()
        prepared: defaultdict[str, set[_Function]] = defaultdict(set)
        for part in sorted(folder.glob("*.jsonl")):
            for line in part.read_text().splitlines():
                test, seconds, called, prepared_by = json.loads(line)
                found.seconds[test] = seconds
                found.calls[test] = set(map(tuple, called))
                prepared[test.partition("::")[0]] |= set(map(tuple, prepared_by))
        for test, called in found.calls.items():
            called.update(prepared[test.partition("::")[0]])  # fixtures are shared by the tests of a file
        return found

    def tests_of(self, file: str, function: int, limit: float) -> tuple[list[str], int]:
        """Tests that call it, for so many seconds, and how many there are.

        They come in rounds: from each file of tests the one that calls the fewest other functions, then from
        each the second, as tests of one file often check the same. In a round, tests named after `file` lead.

        function  its first line; 0 for what is done when the module is imported

        What no test calls may be called at import: then the tests that are named by the file are taken, and
        those that call any of its functions. If another process runs it, the tests of a file which names it,
        else of the files beside it.
        A change of code that runs at import may also break the modules that import the file. Their tests
        come last; also for what few tests call, as a cache or a late import calls it once in a process.
        """
        own = f"/test_{Path(file).stem}.py"
        tests = [test for test, called in self.calls.items() if (file, function) in called]
        if not tests:
            files = {one for called in self.calls.values() for one, _ in called}
            named = {one for one in files if Path(file).name in (ROOT / one).read_text()}
            beside = {one for one in files if Path(one).parent == Path(file).parent}
            files = {file} if file in files else named or beside
            tests = [
                test
                for test, called in self.calls.items()
                if own in test or any(one in files for one, _ in called)
            ]
        direct = set(tests)
        if not function or len(tests) <= _FEW:
            importers = _importers(file)
            found = (
                test for test, called in self.calls.items() if any(one in importers for one, _ in called)
            )
            tests += [test for test in found if test not in direct]
        tests.sort(key=lambda test: (len(self.calls[test]), self.seconds[test]))
        taken: Counter[str] = Counter()
        rounds: dict[str, int] = {}
        for test in tests:
            rounds[test] = taken[of := test.partition("::")[0]]
            taken[of] += 1
        tests.sort(key=lambda test: (test not in direct, rounds[test], own not in test))
        chosen: list[str] = []
        for test in tests:
            limit -= self.seconds[test]
            if chosen and limit < 0:
                break
            chosen.append(test)
        return chosen, len(tests)


@cache
def _importers(file: str) -> set[str]:
    """The files that import names of this one, and those that import names of these."""
    imported = imported_by_modules()
    names = {name for name in imported if _path(name) == file}
    for _ in range(2):
        names |= {name for name, others in imported.items() if others & names}
    return {*map(_path, names)} - {file}


def _path(module: str) -> str:
    path = f"{module.partition('.')[0].removeprefix('duebell_')}/{module.replace('.', '/')}"
    return f"{path}/__init__.py" if (ROOT / path).is_dir() else f"{path}.py"


def _seconds() -> float:
    """The clock that measures tests. Libraries that freeze the time leave this function as it is."""
    return time.clock_gettime(time.CLOCK_MONOTONIC)


class _Plugin:
    """Notes each function of the product that is called during a test, in whatever thread."""

    def __init__(self, out: Path, root: Path) -> None:
        self._out = out
        self._root = f"{root}{os.sep}"
        self._called: dict[int, CodeType] = {}
        self._prepared: dict[int, CodeType] = {}
        threading.settrace(self._trace)
        sys.settrace(self._trace)

    def _trace(self, frame: FrameType, _: str, __: Any) -> None:
        self._called[id(frame.f_code)] = frame.f_code

    def _functions(self, called: dict[int, CodeType]) -> list[_Function]:
        functions = {
            (code.co_filename.removeprefix(self._root), code.co_firstlineno) for code in list(called.values())
        }
        return sorted(one for one in functions if one[0].partition(os.sep)[0] in PACKAGES)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        self._called.clear()
        sys.settrace(self._trace)  # somebody may have set another
        result = yield
        self._prepared = self._called.copy()
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        started = _seconds()
        result = yield
        seconds = round(_seconds() - started, 3)
        line = [item.nodeid, seconds, self._functions(self._called), self._functions(self._prepared)]
        with self._out.open("a") as out:
            out.write(json.dumps(line) + "\n")
        return result


def pytest_configure(config: pytest.Config) -> None:
    """Begin, if there is a folder to write to. Of pytest-xdist's processes each writes a file."""
    is_controller = bool(config.getoption("numprocesses", 0)) and "PYTEST_XDIST_WORKER" not in os.environ
    if (folder := os.environ.get("DUEBELL_COVERAGE_MAP")) and not is_controller:
        out = Path(folder) / f"{os.environ.get('PYTEST_XDIST_WORKER', 'main')}.jsonl"
        config.pluginmanager.register(_Plugin(out, config.rootpath))
