"""The arming protocol holds in every interleaving of the cases.

Its extensions have models of their own: lanes that runs give to each other, a queue that is given more
lanes, tasks that are reserved for a transaction, and all tries of an invocation.
"""

from collections.abc import Sequence
from typing import Any

import pytest

from . import giving, model, relaning, reserving, tries
from .explore import explore
from .model import Model
from .world import LATE_IN_THE_HOUR, Case

pytestmark = pytest.mark.slow

_MODELS: dict[str, tuple[Sequence[Case], type[Model]]] = {
    "cases": (model.CASES, Model),
    "giving": (giving.CASES, giving.GivingModel),
    "relaning": (relaning.CASES, relaning.RelaningModel),
    "reserving": (reserving.CASES, reserving.ReservingModel),
    "tries": (tries.CASES, tries.TriesModel),
}


def _explored(*models: str) -> list[Any]:
    return [
        pytest.param(case, _MODELS[name][1], id=f"{name}-{case.name}")
        for name in models
        for case in _MODELS[name][0]
    ]


@pytest.mark.parametrize(("case", "kind"), _explored(*_MODELS))
def test_nothing_is_lost_or_late(case: Case, kind: type[Model]) -> None:
    finding = explore(case, kind=kind)
    assert finding.fault is None, str(finding)


@pytest.mark.parametrize(
    ("case", "kind"),
    [
        each
        for each in _explored("cases", "tries")
        if each.values[1] is not Model or "lose" not in each.values[0].faults
    ],
)
def test_nothing_is_lost_or_late_where_a_ring_has_no_echo(case: Case, kind: type[Model]) -> None:
    finding = explore(case, LATE_IN_THE_HOUR, kind=kind)
    assert finding.fault is None, str(finding)
