"""The lines that a function writes are copied to a file as they come, whatever MiniStack does with them."""

import re
import sys
from pathlib import Path
from queue import Queue
from types import ModuleType
from typing import Any, cast

import pytest

from duebell_infra.local.ministack_child import _copy_lines


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """MiniStack's module that runs functions."""
    module = ModuleType("ministack.core.lambda_runtime")
    core = ModuleType("ministack.core")
    vars(core)["lambda_runtime"] = module
    for name, each in (("ministack", ModuleType("ministack")), ("ministack.core", core)):
        monkeypatch.setitem(sys.modules, name, each)
    monkeypatch.setitem(sys.modules, "ministack.core.lambda_runtime", module)
    return module


def test_each_line_is_copied_with_its_time_and_kept(runtime: ModuleType, tmp_path: Path) -> None:
    class Worker:
        _stderr_queue: Queue[str] = Queue()

        def _read_stderr(self) -> None:
            self._stderr_queue.put("one")
            # Written at once, while MiniStack keeps it until the invocation has ended
            assert file.read_text().endswith(" one\n")
            self._stderr_queue.put("two \ud800")

    vars(runtime)["Worker"] = Worker
    file = tmp_path / "worker.log"
    worker = Worker()
    with file.open("a", buffering=1, errors="backslashreplace") as log:
        _copy_lines(log)
        worker._read_stderr()
    kept = cast("Any", worker)._stderr_queue
    assert [kept.get_nowait(), kept.get_nowait()] == ["one", "two \ud800"]
    lines = file.read_text().splitlines()
    assert [re.sub(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00 ", "", line) for line in lines] == [
        "one",
        "two \\ud800",
    ]


@pytest.mark.parametrize("has_worker", [True, False])
def test_a_ministack_that_keeps_lines_elsewhere_is_told_in_the_log(
    runtime: ModuleType, tmp_path: Path, *, has_worker: bool
) -> None:
    if has_worker:
        vars(runtime)["Worker"] = type("Worker", (), {})
    with (tmp_path / "worker.log").open("a") as log:
        _copy_lines(log)
    assert "shows the worker's log only in CloudWatch Logs" in (tmp_path / "worker.log").read_text()
