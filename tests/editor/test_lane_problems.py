"""What status and doctor say of single lanes, and of a relane that was broken off."""

from datetime import timedelta

import msgspec
import pytest

from duebell import Editor, ProblemKind
from duebell_shared.backend import Backend
from duebell_shared.bell.arming import ArmingRecord, Fullest, LastRun, RestingLane
from duebell_shared.queue.lane_sizes import GIGABYTE
from tests.shared.on_moto import swap
from tests.support import NOON

HOUR = timedelta(hours=1)


def changed(backend: Backend, **fields: object) -> None:
    def change(record: ArmingRecord) -> ArmingRecord:
        return msgspec.structs.replace(record, **fields)

    swap(backend, change)


def problems(editor: Editor) -> dict[ProblemKind, str]:
    return {problem.kind: str(problem) for problem in editor.status().problems}


@pytest.mark.parametrize(("gigabytes", "is_told"), [(7, False), (8, True), (10, True)])
def test_a_lane_that_fills_is_told_with_its_size_and_the_way_out(
    editor: Editor, backend: Backend, *, gigabytes: int, is_told: bool
) -> None:
    editor.ensure_armed()
    changed(backend, fullest=Fullest(lane=3, bytes=gigabytes * GIGABYTE, measured_at=NOON))
    found = problems(editor)
    assert (ProblemKind.LANE_FILLS in found) is is_told
    if is_told:
        assert f"lane 3 held {gigabytes} GB at 2026-11-21T12:00:00.000Z" in found[ProblemKind.LANE_FILLS]
        assert "`duebell relane`" in found[ProblemKind.LANE_FILLS]


def test_a_lane_that_rests_is_told_with_since_when(editor: Editor, backend: Backend) -> None:
    editor.ensure_armed()
    resting = (RestingLane(lane=2, since=NOON - HOUR),)
    changed(backend, last_run=LastRun(run="run", finished_at=NOON, resting=resting))
    assert list(problems(editor)) == [ProblemKind.LANE_RESTS]
    assert "lane 2 since 2026-11-21T11:00:00.000Z" in problems(editor)[ProblemKind.LANE_RESTS]


@pytest.mark.parametrize(("until", "is_told"), [(NOON + HOUR / 60, False), (NOON - HOUR / 60, True)])
def test_a_relane_that_was_broken_off_is_told_with_how_to_end_it(
    editor: Editor, backend: Backend, *, until: object, is_told: bool
) -> None:
    editor.ensure_armed()
    changed(backend, relaner="someone", relaner_until=until)
    found = problems(editor)
    assert (ProblemKind.RELANE in found) is is_told
    if is_told:
        assert found[ProblemKind.RELANE].endswith("repeat it: `duebell relane 4`")
