"""Fixtures for the editor's tests."""

import pytest

from duebell_shared.backend import Backend
from tests.editor.memory import Scheduler
from tests.worker.hooks import Hooks


@pytest.fixture
def scheduler() -> Scheduler:
    """A scheduler in memory that was never used."""
    return Scheduler.start()


@pytest.fixture
def aws(backend: Backend) -> Hooks:
    return Hooks(backend)
