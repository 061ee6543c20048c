"""The arming protocol holds with runs that give lanes to each other, in every interleaving of the cases."""

import os

import pytest

from .explore import explore
from .giving import CASES, DEEP, GivenForEver, GivingModel
from .world import Case, Ingredients

_EXPLORED = (*CASES, *(DEEP if os.environ.get("DUEBELL_DEEP") else ()))


@pytest.mark.parametrize("case", _EXPLORED, ids=lambda case: case.name)
def test_nothing_is_lost_or_late_when_lanes_are_given(case: Case) -> None:
    finding = explore(case, kind=GivingModel)
    assert finding.fault is None, str(finding)


def test_lanes_that_are_given_without_a_watchdog_are_lost() -> None:
    findings = (explore(case, Ingredients(record=GivenForEver), kind=GivingModel) for case in CASES)
    found = next(finding for finding in findings if finding.fault)
    assert any("gives its lanes to" in step for step in found.trace)
