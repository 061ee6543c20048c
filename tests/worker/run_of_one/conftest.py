"""A queue and a rule in memory for runs of few tasks, with their calls counted and hooks in them."""

import pytest

from tests.support import Clock
from tests.worker.run_of_one.scene import Scene


@pytest.fixture
def scene(clock: Clock) -> Scene:
    return Scene(clock)
