"""Fixtures for the editor's tests."""

import random
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from duebell import Editor
from duebell_shared.backend import Backend
from tests.editor.memory import Scheduler
from tests.transcript import compare_row
from tests.worker.hooks import Hooks


@pytest.fixture
def scheduler() -> Scheduler:
    """A scheduler in memory that was never used."""
    return Scheduler.start()


@pytest.fixture
def aws(backend: Backend) -> Hooks:
    return Hooks(backend)


@pytest.fixture
def whole_answers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Compare all that `Editor.why` says in `test_why.py` with the rows of `why.txt`; likewise for others."""
    random.seed(1)  # the times of tasks that wait for a limit are random
    answers: list[Any] = []
    name = request.path.stem.removeprefix("test_")
    real = getattr(Editor, name)

    def asked(editor: Editor, *args: Any, **options: Any) -> Any:
        answers.append(real(editor, *args, **options))
        return answers[-1]

    monkeypatch.setattr(Editor, name, asked)
    yield
    if answers:
        told = msgspec.json.encode(answers).decode()
        compare_row(request.path.with_name(f"{name}.txt"), request.node.name.replace(": ", " "), told)
