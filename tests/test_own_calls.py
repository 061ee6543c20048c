"""The number of our own functions that a call goes through, and of their modules."""

import sys
from collections import Counter
from datetime import timedelta
from types import FrameType
from typing import Any

import pytest

import duebell_editor
import duebell_shared
import duebell_worker
from duebell import Worker
from duebell_infra.testing import InlinePool
from tests.editor.memory import Scheduler
from tests.worker.starting import CONTEXT


@pytest.fixture(autouse=True)
def without_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    """The application does not use OpenTelemetry, though FastAPI imports it in other tests."""
    monkeypatch.delitem(sys.modules, "opentelemetry.trace", raising=False)


OURS = tuple(package.__path__[0] for package in (duebell_shared, duebell_editor, duebell_worker))


def calls_of_ours(call: Any) -> Counter[str]:
    """The named functions of ours that are called, by their modules."""
    found: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(OURS) and not code.co_name.startswith("<"):
            found[code.co_filename] += 1

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def test_an_add_goes_through_few_functions_and_modules() -> None:
    # Given a queue with a task that is due first
    scheduler = Scheduler.start()
    scheduler.editor.add("act", due=timedelta(hours=1))
    # When another is added
    calls = calls_of_ours(lambda: scheduler.editor.add("act", due=timedelta(hours=2), payload={"item": 42}))
    # Then it goes through few, those of the store in memory included
    assert calls.total() <= 60
    assert len(calls) <= 14


def test_a_run_of_one_task_goes_through_few_functions_and_modules() -> None:
    # Given a worker that has run before, and a task that is due
    scheduler = Scheduler.start()
    worker = Worker(backend=scheduler.backend, pool=lambda _: InlinePool())
    worker.action("act")(lambda: None)
    worker.handler(None, CONTEXT)
    scheduler.editor.add("act", due=timedelta(hours=1))
    scheduler.clock.advance(timedelta(hours=1, seconds=10))
    # When it is run
    answers: list[Any] = []
    calls = calls_of_ours(lambda: answers.append(worker.handler(None, CONTEXT)))
    # Then it goes through few, with four lanes
    assert answers[0]["done"] == 1
    assert calls.total() <= 420
    assert len(calls) <= 26
