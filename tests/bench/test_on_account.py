"""What the check in a real account measures, on a rehearsed scheduler."""

from datetime import timedelta

from bench.actions import worker
from bench.on_account import add, report

from duebell.testing import Rehearsal
from tests.support import NOON


def test_tasks_are_added_once_and_reported_when_they_are_over() -> None:
    rehearsal = Rehearsal(worker, now=NOON)
    for _ in range(2):
        add(rehearsal.editor, hours=1, tasks=50, now=NOON)
    half = report(rehearsal.editor, tasks=50)
    assert (half.lateness, len(half.missing)) == (None, 50)
    rehearsal.let_time_pass(timedelta(hours=2))
    whole = report(rehearsal.editor, tasks=51)
    assert whole.lateness
    assert (whole.lateness.tasks, whole.missing, whole.early) == (50, ("lateness-50",), ())
    assert len(whole.seconds) == 50
    assert 0 <= whole.lateness.p50 <= whole.lateness.worst <= 120
