"""The arming protocol holds in every interleaving of the cases; and each broken one is found out."""

import os

import pytest

from .broken import BROKEN
from .cases import CASES, DEEP
from .explore import explore
from .world import LATE_IN_THE_HOUR, Case, Ingredients

pytestmark = pytest.mark.slow

_EXPLORED = (*CASES, *(DEEP if os.environ.get("DUEBELL_DEEP") else ()))

#: Each broken protocol is found out long before as many states.
_MOST = 100_000


@pytest.mark.parametrize("case", _EXPLORED, ids=lambda case: case.name)
def test_nothing_is_lost_or_late(case: Case) -> None:
    finding = explore(case)
    assert finding.fault is None, str(finding)


@pytest.mark.parametrize(
    "case", [case for case in _EXPLORED if "lose" not in case.faults], ids=lambda c: c.name
)
def test_nothing_is_lost_or_late_where_a_ring_has_no_echo(case: Case) -> None:
    finding = explore(case, LATE_IN_THE_HOUR)
    assert finding.fault is None, str(finding)


@pytest.mark.parametrize("ingredient", BROKEN)
def test_each_ingredient_is_needed(ingredient: str) -> None:
    findings = (explore(case, BROKEN[ingredient], most=_MOST) for case in reversed(CASES))
    found = next((finding for finding in findings if finding.fault), None)
    assert found, f"without {ingredient!r} nothing went wrong"
    assert found.trace


def test_the_trace_tells_what_happened() -> None:
    finding = explore(CASES[0], Ingredients(clear_first=False))
    assert finding.fault == "LOST"
    told = str(finding)
    for what in ("writes its task due 1", "RINGS", "clears", "releases", "RETURNS"):
        assert what in told
