"""Workers that are deployed for a test, and start in a process as new as Lambda's."""

import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from duebell import lambda_handler
from duebell_shared.backend import Backend
from duebell_worker import entry
from duebell_worker.actions import registration
from tests.support import Clock

CONTEXT = cast("Any", SimpleNamespace(get_remaining_time_in_millis=lambda: 900_000))


class Context:
    """The context of an invocation, which ends so long after it was made."""

    def __init__(self, clock: Clock, time: timedelta = timedelta(minutes=15), *, request: str = "") -> None:
        self._clock = clock
        self._ends_at = clock() + time
        self.aws_request_id = request

    def get_remaining_time_in_millis(self) -> int:
        return max(0, round((self._ends_at - self._clock()).total_seconds() * 1000))


WORKING = """
import dataclasses
from duebell import Worker

@dataclasses.dataclass
class Sale:
    item: int

worker = Worker.from_env()

@worker.recurring("rate(1 day)", id="daily")
@worker.action
def report() -> None: ...

@worker.action("put_on_sale", attempts=3)
def put_on_sale(sale: Sale) -> None: ...
"""


@pytest.fixture
def deploy(
    tmp_path: Path, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., None]]:
    """Deploy a bundle with a module of this source; the next call of the entry is a cold start."""
    monkeypatch.setattr(Backend, "connect", lambda *_: backend)
    monkeypatch.setenv("DUEBELL_WORKER", "starting_for_tests:worker")
    monkeypatch.syspath_prepend(tmp_path)

    def deploy(source: str) -> None:
        (tmp_path / "starting_for_tests.py").write_text(source, encoding="utf-8")
        monkeypatch.setattr(registration, "_PROCESS", source)
        cold()

    def cold() -> None:
        forget()
        sys.modules.pop("starting_for_tests", None)
        sys.path_importer_cache.clear()

    yield deploy
    cold()


def forget() -> None:
    """Have the entry begin as in a new process."""
    entry._worker.cache_clear()
    entry.connected_backend.cache_clear()
    lambda_handler._intake.cache_clear()


def start() -> None:
    """One invocation in a new process."""
    forget()
    sys.modules.pop("starting_for_tests", None)
    entry.handler(None, CONTEXT)
