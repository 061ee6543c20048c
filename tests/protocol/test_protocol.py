"""The arming protocol holds in every interleaving of the cases; and each broken one is found out.

Its extensions have models of their own: lanes that runs give to each other, a queue that is given more
lanes, tasks that are reserved for a transaction, and all tries of an invocation.
"""

from collections.abc import Sequence
from typing import Any

import pytest

from . import cases, giving, relaning, reserving, tries
from .broken import BROKEN
from .explore import explore
from .world import LATE_IN_THE_HOUR, Case, Ingredients

pytestmark = pytest.mark.slow

#: Each broken protocol is found out long before as many states.
_MOST = 100_000

#: The case that finds a broken protocol out, where most others do not; it is explored first.
_FOUND_IN = {
    "lock": "one lane, two adds, an action that fails, a crash",
    "unknown while applying": "one lane, two adds, two rings lost or runs gone",
    "what is left free is due when any was": "two lanes, one task there, an add, shared",
    "release heeds what was added": "one lane, two adds, an action that fails, a crash",
    "late calls do not count": "one lane, a move and an add, a PutRule long after its hold",
    "dispute": "one lane, a move and an add, a PutRule long after its hold",
    "an unanswered try keeps the hold": "one lane, two adds, a PutRule unanswered",
    "an echo that there is": "one task there, an echo as the watchdog, two crashes",
    "what is put back counts": "one lane, two adds, an action that fails, a crash",
}

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


def _in_turn(broken: str) -> list[Case]:
    first = _FOUND_IN.get(broken)
    return [*(case for case in cases.CASES if case.name == first), *cases.CASES[::-1]]


@pytest.mark.parametrize(
    ("broken", "explored", "model"),
    [
        *(pytest.param(BROKEN[name], _in_turn(name), {}, id=name) for name in BROKEN),
        *(
            pytest.param(relaning.BROKEN[name], relaning.CASES, {"kind": relaning.RelaningModel}, id=name)
            for name in relaning.BROKEN
        ),
    ],
)
def test_each_ingredient_is_needed(broken: Any, explored: Sequence[Case], model: dict[str, Any]) -> None:
    findings = (explore(case, broken, most=_MOST, **model) for case in explored)
    found = next((finding for finding in findings if finding.fault), None)
    assert found
    assert found.trace


def test_the_trace_tells_what_happened() -> None:
    finding = explore(cases.CASES[0], Ingredients(clear_first=False))
    assert finding.fault == "LOST"
    told = str(finding)
    for what in ("writes its task due 1", "RINGS", "clears", "releases", "RETURNS"):
        assert what in told


def test_lanes_that_are_given_without_a_watchdog_are_lost() -> None:
    without = Ingredients(record=giving.GivenForEver)
    finding = explore(giving.TO_A_DEAD_RUN, without, kind=giving.GivingModel)
    assert finding.fault == "LOST"
    assert any("gives its lanes to" in step for step in finding.trace)


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        (reserving.Broken(asks=False), "UNCONFIRMED"),
        (reserving.Broken(is_fenced=False), "LOST"),
        (reserving.Broken(comes_back=False), "LOST"),
    ],
)
def test_each_part_of_a_reservation_is_needed(broken: reserving.Broken, fault: str) -> None:
    finding = explore(reserving.CASES[0], broken, kind=reserving.ReservingModel)
    assert finding.fault == fault, str(finding)


def test_a_try_that_takes_over_before_the_lease_has_ended_runs_beside_one_that_lives() -> None:
    twice = [case for case in tries.CASES if "twice" in case.faults]
    assert {explore(case, kind=tries.TakesOverAtOnce).fault for case in twice} == {"TWICE"}


def test_a_try_that_waits_without_a_watchdog_may_lose_it_all() -> None:
    findings = (explore(case, LATE_IN_THE_HOUR, kind=tries.DiesUnarmed) for case in tries.CASES)
    assert "LOST" in {finding.fault for finding in findings}
