"""The worker says which time zones it has, and the doctor when the editor has others."""

import msgspec
import pytest

from duebell import Editor, LastRun, ProblemKind, Worker
from duebell_shared.backend import Backend
from duebell_shared.schedules.zones import TZDATA_VERSION
from duebell_worker.run import report


def test_a_run_says_which_time_zones_the_worker_has(editor: Editor, worker: Worker) -> None:
    assert (editor.status().tzdata, editor.status().last_run) == (TZDATA_VERSION, None)
    worker.run()
    last = editor.status(thorough=True).last_run
    assert last
    assert last.tzdata == TZDATA_VERSION
    assert editor.status(thorough=True).healthy


@pytest.mark.parametrize(
    ("theirs", "way_out"),
    [
        ("1999a", "`duebell deploy` gives the worker the release from here; its next run tells"),
        ("2999a", "upgrade tzdata here (`pip install --upgrade tzdata`)"),
    ],
)
def test_the_doctor_says_that_the_worker_has_other_time_zones(
    editor: Editor, worker: Worker, monkeypatch: pytest.MonkeyPatch, theirs: str, way_out: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(report, "TZDATA_VERSION", theirs)
        worker.run()
    # Then a look at the rule alone raises no alarm, and the doctor tells
    assert editor.status().healthy
    [problem] = editor.status(thorough=True).problems
    assert (problem.kind, problem.mendable) == (ProblemKind.TZDATA, False)
    assert f"tzdata {TZDATA_VERSION}, the worker's last run had those of {theirs}" in problem.what
    assert problem.way_out == way_out
    # Until the worker has the same
    worker.run()
    assert editor.status(thorough=True).healthy


def test_a_worker_that_does_not_say_is_not_suspected(
    editor: Editor, backend: Backend, worker: Worker
) -> None:
    worker.run()
    record = backend.store.read_record()
    assert record
    assert record.last_run
    silent = LastRun(run="run", finished_at=record.last_run.finished_at)
    assert backend.store.swap_record(record, msgspec.structs.replace(record, last_run=silent))
    assert editor.status(thorough=True).healthy
