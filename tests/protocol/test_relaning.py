"""The arming protocol holds while a queue is given more lanes, in every interleaving of the cases."""

import os

import pytest

from .explore import explore
from .relaning import BROKEN, CASES, DEEP, RelaningModel
from .world import Case

pytestmark = pytest.mark.slow

_EXPLORED = (*CASES, *(DEEP if os.environ.get("DUEBELL_DEEP") else ()))


@pytest.mark.parametrize("case", _EXPLORED, ids=lambda case: case.name)
def test_nothing_is_lost_or_late_while_lanes_are_added(case: Case) -> None:
    finding = explore(case, kind=RelaningModel)
    assert finding.fault is None, str(finding)


@pytest.mark.parametrize("ingredient", BROKEN)
def test_each_ingredient_is_needed(ingredient: str) -> None:
    findings = (explore(case, BROKEN[ingredient], kind=RelaningModel, most=100_000) for case in CASES)
    assert any(finding.fault for finding in findings), f"without {ingredient!r} nothing went wrong"
