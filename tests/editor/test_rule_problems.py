"""What can be wrong with the rule: each is told with the way out, and repaired if possible."""

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from duebell import Editor, Failure, ProblemKind
from duebell_shared.backend import Backend
from duebell_shared.bell.bell import BellState
from duebell_shared.tasks.status import RetentionPolicy
from tests.editor.health import DUE, problem
from tests.support import Clock

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient


def test_a_disabled_rule(editor: Editor, events: "EventBridgeClient") -> None:
    editor.add("act", due=DUE)
    events.disable_rule(Name="duebell")
    found = problem(editor, ProblemKind.DISABLED)
    assert "nothing runs: enable it in EventBridge, or with `aws events enable-rule" in str(found)
    assert not found.mendable
    # It is an operator's choice, and is left so.
    assert not editor.ensure_armed().enabled


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


def test_a_rule_that_someone_changed(editor: Editor, events: "EventBridgeClient") -> None:
    editor.add("act", due=DUE)
    events.put_rule(Name="duebell", ScheduleExpression="rate(1 minute)")
    found = problem(editor, ProblemKind.RULE_ELSEWHERE)
    assert found.what.startswith("the rule is at rate(1 minute) and should ring at 2026-12-31T00:00:00.000Z")
    assert found.mendable
    assert editor.ensure_armed().healthy
