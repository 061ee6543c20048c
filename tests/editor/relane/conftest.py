"""Fixtures for the tests of a queue that is given more lanes."""

import pytest

from tests.editor.memory import Scheduler


@pytest.fixture
def scheduler() -> Scheduler:
    """A scheduler in memory whose rule was set once."""
    scheduler = Scheduler.start()
    scheduler.editor.ensure_armed()
    return scheduler
