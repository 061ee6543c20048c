"""The arming protocol holds with runs that give lanes to each other, in every interleaving of the cases."""

import os

import pytest

from .explore import explore
from .giving import CASES, DEEP, TO_A_DEAD_RUN, GivenForEver, GivingModel
from .world import Case, Ingredients

pytestmark = pytest.mark.slow

_EXPLORED = (*CASES, *(DEEP if os.environ.get("DUEBELL_DEEP") else ()))


@pytest.mark.parametrize("case", _EXPLORED, ids=lambda case: case.name)
def test_nothing_is_lost_or_late_when_lanes_are_given(case: Case) -> None:
    finding = explore(case, kind=GivingModel)
    assert finding.fault is None, str(finding)


def test_lanes_that_are_given_without_a_watchdog_are_lost() -> None:
    finding = explore(TO_A_DEAD_RUN, Ingredients(record=GivenForEver), kind=GivingModel)
    assert finding.fault == "LOST"
    assert any("gives its lanes to" in step for step in finding.trace)
