"""The arming protocol holds in every interleaving of the cases.

Its extensions have models of their own: lanes that runs give to each other, a queue that is given more
lanes, tasks that are reserved for a transaction, and all tries of an invocation.
"""

from typing import Any

import pytest

from . import cases, giving, relaning, reserving, tries
from .explore import explore
from .world import LATE_IN_THE_HOUR, Case

pytestmark = pytest.mark.slow

_MODELS: list[tuple[Any, dict[str, Any]]] = [
    (cases, {}),
    (giving, {"kind": giving.GivingModel}),
    (relaning, {"kind": relaning.RelaningModel}),
    (reserving, {"kind": reserving.ReservingModel}),
    (tries, {"kind": tries.TriesModel}),
]


def _explored(*modules: Any) -> list[Any]:
    return [
        pytest.param(case, model, id=f"{module.__name__.rpartition('.')[2]}-{case.name}")
        for module, model in _MODELS
        if module in modules
        for case in module.CASES
    ]


@pytest.mark.parametrize(("case", "model"), _explored(cases, giving, relaning, reserving, tries))
def test_nothing_is_lost_or_late(case: Case, model: dict[str, Any]) -> None:
    finding = explore(case, **model)
    assert finding.fault is None, str(finding)


@pytest.mark.parametrize(
    ("case", "model"),
    [each for each in _explored(cases, tries) if each.values[1] or "lose" not in each.values[0].faults],
)
def test_nothing_is_lost_or_late_where_a_ring_has_no_echo(case: Case, model: dict[str, Any]) -> None:
    finding = explore(case, LATE_IN_THE_HOUR, **model)
    assert finding.fault is None, str(finding)
