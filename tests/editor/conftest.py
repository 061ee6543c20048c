"""Fixtures for the editor's tests."""

import pytest

from tests.editor.memory import Scheduler


@pytest.fixture
def scheduler() -> Scheduler:
    """A scheduler in memory that was never used."""
    return Scheduler.start()
