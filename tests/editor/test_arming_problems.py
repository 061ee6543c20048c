"""What can be wrong with the arming: each is told with the way out, and `ensure_armed` repairs it."""

from datetime import timedelta

from duebell import Editor, ProblemKind
from duebell_shared.backend import Backend
from duebell_shared.bell.arming import GRACE, ArmingRecord
from duebell_shared.tasks.task import STARTS_WITHIN
from tests.editor.health import DUE, MINUTE, problem, write
from tests.shared.on_moto import swap
from tests.support import NOON, Clock


def test_a_rule_that_is_not_confirmed(editor: Editor, backend: Backend) -> None:
    editor.add("act", due=DUE)
    swap(backend, ArmingRecord.disputed)
    found = problem(editor, ProblemKind.NOT_ARMED)
    assert found.what == "the rule is not confirmed to be where the queue needs it"
    assert (found.mendable, editor.status().armed) == (True, False)
    assert editor.ensure_armed().healthy


def test_while_someone_sets_it_that_is_no_problem(editor: Editor, backend: Backend) -> None:
    editor.add("act", due=DUE)
    swap(backend, lambda record: record.applying("other", until=NOON + MINUTE))
    assert (editor.status().healthy, editor.status().armed) == (True, False)


def test_a_ring_that_was_missed(editor: Editor, clock: Clock) -> None:
    editor.add("act", due=DUE)
    clock.now = DUE + GRACE
    assert editor.status().healthy
    clock.advance(timedelta(seconds=1))
    found, overdue = editor.status().problems
    assert (found.kind, overdue.kind) == (ProblemKind.NOT_ARMED, ProblemKind.OVERDUE)
    assert found.what == "the rule should have rung at 2026-12-31T00:00:00.000Z, and no run came of it"
    # Mended, it rings at the first safe minute.
    assert editor.ensure_armed().rings_at == DUE + 4 * MINUTE


def test_an_overdue_task_of_which_the_record_does_not_know(
    editor: Editor, backend: Backend, clock: Clock
) -> None:
    editor.ensure_armed()
    write(backend, DUE, lane=3)
    clock.now = DUE + STARTS_WITHIN
    assert editor.status().healthy
    clock.advance(timedelta(seconds=1))
    found = problem(editor, ProblemKind.OVERDUE)
    assert found.what.startswith("tasks are overdue, the first since 2026-12-31T00:00:00.000Z, and no run")
    status = editor.ensure_armed()
    assert (status.rings_at, [each.kind for each in status.problems]) == (
        DUE + 5 * MINUTE,
        [ProblemKind.OVERDUE],
    )


def test_what_the_repair_did_not_solve_says_what_to_do_now(
    editor: Editor, backend: Backend, clock: Clock
) -> None:
    # Given a ring that brought no run, for a task that is overdue by now
    editor.add("act", due=DUE)
    clock.now = DUE + 5 * MINUTE
    before = editor.doctor()
    assert {problem.kind for problem in before.status.problems} == {
        ProblemKind.NOT_ARMED,
        ProblemKind.OVERDUE,
    }
    assert all("`duebell doctor --fix`" in problem.way_out for problem in before.status.problems)
    # When the rule is repaired, then that is solved; the task is still overdue, and no other repair helps
    after = editor.doctor(fix=True)
    assert [problem.kind for problem in after.mended] == [ProblemKind.NOT_ARMED]
    [left] = after.status.problems
    assert (left.kind, left.mendable) == (ProblemKind.OVERDUE, False)
    assert left.way_out.startswith(
        "the rule is set to ring at 2026-12-31T00:06:00.000Z; if no run comes then"
    )


def test_a_run_that_died_and_was_not_followed(editor: Editor, backend: Backend, clock: Clock) -> None:
    # Given a run that died with its watchdog armed
    until = NOON + 2 * MINUTE
    swap(backend, lambda record: record.claimed("run", now=NOON, until=until))
    backend.armer.ensure()
    # When its lease is over, and no run came
    clock.now = until + GRACE + timedelta(seconds=1)
    # Then that is told, and so is the ring that was missed
    kinds = {each.kind for each in editor.status().problems}
    assert kinds == {ProblemKind.LEASE_EXPIRED, ProblemKind.NOT_ARMED}
    # And once mended, the rule rings for a run to follow
    assert editor.ensure_armed().rings_at == until + 4 * MINUTE
