"""Fixtures for the simulated histories."""

import logging

import pytest


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """The histories log far more than anyone reads."""
    for name in ("duebell", *(f"duebell.{part}" for part in ("worker", "armer", "backend", "editor"))):
        caplog.set_level(logging.CRITICAL, logger=name)
