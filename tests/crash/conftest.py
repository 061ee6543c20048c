"""The worlds in which processes die."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from .dying import worlds


@pytest.fixture
def each_call() -> Iterator[Callable[[Any], Any]]:
    """A new world for each call of the process in it, until one lives."""
    with worlds() as each_call:
        yield each_call
