"""Histories of the table code over botocore, with AWS failing below the SDK's retries."""

import pytest

from tests.simulation.history import History, Over
from tests.simulation.weather import ROUGH

pytestmark = pytest.mark.slow


def test_what_duebell_promises_holds_below_the_sdk_too() -> None:
    broken = {}
    for seed in range(30):
        if problems := History(seed, ROUGH, over=Over.WIRE).run().problems():
            broken[seed] = problems
    assert not broken, (
        f"replay with: python -m tests.simulation.play --over wire --trace --seed {min(broken)}"
    )


def test_what_is_not_serialised_for_speed_makes_no_difference() -> None:
    for seed in range(4711, 4714):
        first, second = (History(seed, ROUGH, over=over).run() for over in (Over.WIRE, Over.WIRE_IN_FULL))
        assert first.aws.trace == second.aws.trace
        assert first.starts == second.starts
