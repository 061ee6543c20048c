"""Every design does a task once, at its time, in the simulated account, and says who described it."""

from collections.abc import Callable

import pytest
from alternatives.comparison.simulate import ROWS, Row
from alternatives.design import Design
from alternatives.duebell_queue import DuebellQueue
from alternatives.ttl_stream import DelegatingTtlStream

from .stage import DAY, HOUR, Stage

#: With every design's slowness: three days after the due date a task is done.
PATIENCE = 3 * DAY

MAKERS: dict[str, Callable[..., Design]] = {
    **{row.name: row.design for row in ROWS},
    "ttl-delegating": DelegatingTtlStream,
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_a_task_is_done_once_and_not_before_it_is_due(make: Callable[..., Design]) -> None:
    stage = Stage(make)
    stage.adds("one", HOUR, payload={"fails": 0})
    stage.passes_until(HOUR + PATIENCE)
    [started] = stage.started("one")
    assert started >= HOUR
    assert stage.done("one") == 1


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_every_design_says_who_described_it_and_what_binds(row: Row) -> None:
    design = _class(row.design)
    assert design.sources
    assert all(each.url.startswith("https://") or design is DuebellQueue for each in design.sources)
    assert design.capabilities.limits.keys() == {1_000, 1_000_000, 100_000_000}
    assert design.capabilities.idle


def _class(make: Callable[..., Design]) -> type[Design]:
    assert isinstance(make, type)
    assert issubclass(make, Design)
    return DuebellQueue if issubclass(make, DuebellQueue) else make
