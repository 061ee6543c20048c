"""Problems of the arming and the rule that tests/cli/test_runbook.py does not play."""

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from duebell import Editor, Failure, ProblemKind
from duebell_shared.backend import Backend
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.bell.bell import BellState
from duebell_shared.tasks.status import RetentionPolicy
from duebell_shared.tasks.task import STARTS_WITHIN
from tests.editor.health import DUE, MINUTE, problem, write
from tests.shared.on_moto import swap
from tests.support import NOON, Clock

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient


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


def test_what_is_worst_comes_first_and_nothing_is_promised_of_a_disabled_rule(
    editor: Editor, events: "EventBridgeClient", backend: Backend, clock: Clock
) -> None:
    # Given a failed task, one that is overdue, and a rule that is disabled
    failed = editor.add("act", due=DUE, id="failed").failed(
        Failure(type="E", message=""), now=clock.now, keep=RetentionPolicy()
    )
    assert backend.store.save(editor.get("failed"), failed)
    editor.add("act", due=clock.now + timedelta(minutes=1))
    events.disable_rule(Name="duebell")
    clock.now += timedelta(minutes=30)
    # Then the cause is first, and what follows from it has no repair of its own, and no echo to wait for
    status = editor.status()
    found = {one.kind: one for one in status.problems}
    kinds = [one.kind for one in status.problems]
    assert (kinds[0], kinds[-1]) == (ProblemKind.DISABLED, ProblemKind.FAILED_TASKS)
    assert kinds[1:-1] == [ProblemKind.NOT_ARMED, ProblemKind.OVERDUE]
    for kind in kinds[1:-1]:
        assert (found[kind].way_out, found[kind].mendable) == ("it follows from the first problem", False)
    assert (status.armed, status.enabled, status.rings_at) == (False, False, None)
    assert status.verdict == "needs attention"
    # And a repair leaves it disabled, and mends nothing
    diagnosis = editor.doctor(fix=True)
    assert diagnosis.mended == ()
    assert diagnosis.status.problems[0].kind is ProblemKind.DISABLED


def test_a_rule_that_was_deleted_is_not_armed(editor: Editor, events: "EventBridgeClient") -> None:
    editor.add("act", due=DUE)
    assert editor.status().armed
    events.remove_targets(Rule="duebell", Ids=["worker"])
    assert not editor.status().armed
    events.delete_rule(Name="duebell")
    assert not editor.status().armed


def test_a_rule_that_is_set_while_it_is_looked_at_is_not_held_against_anybody(
    editor: Editor, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given that another editor moves the rule after the record was read and before the rule is
    editor.add("act", due=DUE)
    read = backend.rule.read

    def read_late() -> BellState:
        monkeypatch.setattr(backend.rule, "read", read)
        editor.add("act", due=DUE - timedelta(days=2))
        return read()

    monkeypatch.setattr(backend.rule, "read", read_late)
    # Then the status is of one moment
    status = editor.status()
    assert status.healthy
    assert (status.next_due, status.rings_at) == (DUE - timedelta(days=2), DUE - timedelta(days=2))
