"""The arming protocol holds with all tries of an invocation, in every interleaving of the cases."""

import os

import pytest

from .explore import explore
from .tries import CASES, DEEP, DiesUnarmed, TakesOverAtOnce, TriesModel
from .world import LATE_IN_THE_HOUR, Case

pytestmark = pytest.mark.slow

_EXPLORED = (*CASES, *(DEEP if os.environ.get("DUEBELL_DEEP") else ()))


@pytest.mark.parametrize("case", _EXPLORED, ids=lambda case: case.name)
def test_nothing_is_lost_late_or_run_by_two_whatever_try_comes(case: Case) -> None:
    finding = explore(case, kind=TriesModel)
    assert finding.fault is None, str(finding)


@pytest.mark.parametrize("case", _EXPLORED, ids=lambda case: case.name)
def test_nothing_is_lost_late_or_run_by_two_where_a_ring_has_no_echo(case: Case) -> None:
    finding = explore(case, LATE_IN_THE_HOUR, kind=TriesModel)
    assert finding.fault is None, str(finding)


def test_a_try_that_takes_over_before_the_lease_has_ended_runs_beside_one_that_lives() -> None:
    findings = [explore(case, kind=TakesOverAtOnce) for case in CASES if "twice" in case.faults]
    assert {finding.fault for finding in findings} == {"TWICE"}


def test_a_try_that_waits_without_a_watchdog_may_lose_it_all() -> None:
    findings = (explore(case, LATE_IN_THE_HOUR, kind=DiesUnarmed) for case in CASES)
    assert "LOST" in {finding.fault for finding in findings}
