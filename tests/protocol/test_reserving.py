"""Reserved tasks are never run unconfirmed, and never lost when confirmed, in every interleaving."""

import os

import pytest

from .explore import explore
from .reserving import CASES, DEEP, Broken, ReservingModel
from .world import Case

pytestmark = pytest.mark.slow

_EXPLORED = (*CASES, *(DEEP if os.environ.get("DUEBELL_DEEP") else ()))


@pytest.mark.parametrize("case", _EXPLORED, ids=lambda case: case.name)
def test_a_task_is_run_if_and_only_if_its_transaction_is_committed(case: Case) -> None:
    finding = explore(case, kind=ReservingModel)
    assert finding.fault is None, str(finding)


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        (Broken(asks=False), "UNCONFIRMED"),
        (Broken(is_fenced=False), "LOST"),
        (Broken(comes_back=False), "LOST"),
    ],
)
def test_each_part_of_it_is_needed(broken: Broken, fault: str) -> None:
    finding = explore(CASES[0], broken, kind=ReservingModel)
    assert finding.fault == fault, str(finding)
