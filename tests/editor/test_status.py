"""How the scheduler stands: each thing that can be wrong is told with the way out, and mended if possible."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import boto3
import msgspec
import pytest
from botocore.model import OperationModel

from duebell_editor import Editor, Failure, NotArmed, Problem, ProblemKind, Settings, Status
from duebell_editor.health import OVERDUE
from duebell_shared.arming import GRACE, ArmingRecord
from duebell_shared.backend import Backend
from duebell_shared.errors import AwsRefused, AwsUnavailable, NotDeployed
from duebell_shared.expression import SENTINEL
from duebell_shared.instants import NEVER
from duebell_shared.keeping import Keeping
from duebell_shared.lane import Lane
from duebell_shared.new_task import new_task
from duebell_shared.rule import RuleState
from tests.shared.on_moto import swap
from tests.support import NOON, Calls, Clock

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

DUE = datetime(2026, 12, 31, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def problem(editor: Editor, kind: ProblemKind, *, thorough: bool = False) -> Problem:
    """The one problem there is, which is of this kind."""
    status = editor.status(thorough=thorough)
    assert [each.kind for each in status.problems] == [kind]
    assert not status.healthy
    [found] = status.problems
    assert str(found) == f"{found.what}: {found.way_out}"
    return found


def write(backend: Backend, due: datetime, *, lane: int = 0) -> None:
    """A task written behind the editor's back, of which the record does not know."""
    task = msgspec.structs.replace(
        new_task(id="one", action="act", due=due, payload=None, now=NOON), lane=lane
    )
    assert backend.store.insert(task)


# When all is well.


def test_a_queue_never_used_is_well(editor: Editor) -> None:
    status = editor.status(thorough=True)
    assert status.healthy
    assert (status.table, status.rule, status.lanes) == ("duebell", "duebell", 4)
    assert (status.expression, status.enabled, status.armed) == (SENTINEL, True, True)
    assert (status.rings_at, status.next_due, status.running) == (None, None, 0)


def test_with_tasks_it_says_what_comes_next(editor: Editor) -> None:
    editor.add("act", due=DUE + MINUTE)
    editor.add("act", due=DUE + timedelta(milliseconds=1))
    status = editor.status()
    assert status.healthy
    assert (status.next_due, status.rings_at) == (DUE + timedelta(milliseconds=1), DUE + MINUTE)
    assert (status.expression, status.armed) == ("cron(1,5,13,28 0-23 30,31 12 ? 2026)", True)


def test_a_run_at_work_is_counted_by_the_lanes_it_holds(editor: Editor, backend: Backend) -> None:
    swap(backend, lambda record: record.claimed("run", now=NOON, until=NOON + 2 * MINUTE))
    backend.armer.ensure()
    assert (editor.status().lanes_held, editor.status().healthy) == (4, True)


def test_a_status_writes_nothing(editor: Editor, calls: Calls) -> None:
    editor.ensure_armed()
    calls.clear()
    editor.status(thorough=True)
    assert set(calls) == {"GetItem", "Query", "DescribeRule", "ListTargetsByRule"}


# What can be wrong with the rule.


def test_a_disabled_rule(editor: Editor, events: "EventBridgeClient") -> None:
    editor.add("act", due=DUE)
    events.disable_rule(Name="duebell")
    found = problem(editor, ProblemKind.DISABLED)
    assert "nothing runs: enable it in EventBridge, or with `aws events enable-rule" in str(found)
    assert not found.mendable
    # It is an operator's choice, and is left so.
    assert not editor.ensure_armed().enabled


def test_a_rule_without_target(editor: Editor, events: "EventBridgeClient") -> None:
    events.remove_targets(Rule="duebell", Ids=["worker"])
    found = problem(editor, ProblemKind.NO_TARGET)
    assert str(found) == "rule 'duebell' has no target, so it wakes nobody: `duebell deploy` gives it one"


def test_a_rule_that_is_set_while_it_is_looked_at_is_not_held_against_anybody(
    editor: Editor, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given that another editor moves the rule after the record was read and before the rule is
    editor.add("act", due=DUE)
    read = backend.rule.read

    def read_late() -> RuleState:
        monkeypatch.setattr(backend.rule, "read", read)
        editor.add("act", due=DUE - timedelta(days=1))
        return read()

    monkeypatch.setattr(backend.rule, "read", read_late)
    # Then the status is of one moment
    status = editor.status()
    assert status.healthy
    assert (status.next_due, status.rings_at) == (DUE - timedelta(days=1), DUE - timedelta(days=1))


def test_a_rule_that_someone_changed(editor: Editor, events: "EventBridgeClient") -> None:
    editor.add("act", due=DUE)
    events.put_rule(Name="duebell", ScheduleExpression="rate(1 minute)")
    found = problem(editor, ProblemKind.RULE_ELSEWHERE)
    assert found.what.startswith("the rule is at rate(1 minute) and should ring at 2026-12-31T00:00:00.000Z")
    assert found.mendable
    assert editor.ensure_armed().healthy


def test_a_rule_that_is_not_there(session: boto3.Session, clock: Clock) -> None:
    backend = Backend.connect(Settings(rule="other"), session, clock=clock, sleep=clock.sleep)
    found = problem(Editor(backend=backend), ProblemKind.RULE)
    assert found.what == "there is no EventBridge rule 'other' in eu-central-1"
    assert found.way_out.startswith("run `duebell deploy`, or set DUEBELL_RULE")
    with pytest.raises(NotArmed, match="no EventBridge rule 'other'"):
        Editor(backend=backend).ensure_armed()


# What can be wrong with the arming.


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
    found = problem(editor, ProblemKind.NOT_ARMED)
    assert found.what == "the rule should have rung at 2026-12-31T00:00:00.000Z, and no run came of it"
    # Mended, it rings at the first safe minute.
    assert editor.ensure_armed().rings_at == DUE + 4 * MINUTE


def test_an_overdue_task_of_which_the_record_does_not_know(
    editor: Editor, backend: Backend, clock: Clock
) -> None:
    editor.ensure_armed()
    write(backend, DUE, lane=3)
    clock.now = DUE + OVERDUE
    assert editor.status().healthy
    clock.advance(timedelta(seconds=1))
    found = problem(editor, ProblemKind.OVERDUE)
    assert found.what.startswith("tasks are overdue, the first since 2026-12-31T00:00:00.000Z, and no run")
    status = editor.ensure_armed()
    assert (status.rings_at, [each.kind for each in status.problems]) == (
        DUE + 5 * MINUTE,
        [ProblemKind.OVERDUE],
    )


def test_a_task_whose_ring_brought_no_run_is_overdue_at_once(editor: Editor, clock: Clock) -> None:
    # Given two tasks of which one is due at the ring, and one after it
    editor.add("act", due=DUE)
    editor.add("act", due=DUE + GRACE)
    clock.now = DUE + GRACE
    assert editor.status().overdue == 0
    # When the ring counts as missed, then nothing comes for either
    clock.advance(timedelta(seconds=1))
    assert editor.status().overdue == 2


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


def test_a_problem_that_a_repair_solves_and_another_process_makes_again(
    editor: Editor, events: "EventBridgeClient", backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a process that sets the rule to its own time again and again
    editor.add("act", due=DUE)
    verify = backend.armer.verify

    def verify_for_nothing() -> ArmingRecord:
        record = verify()
        events.put_rule(Name="duebell", ScheduleExpression="rate(1 minute)")
        return record

    events.put_rule(Name="duebell", ScheduleExpression="rate(1 minute)")
    monkeypatch.setattr(backend.armer, "verify", verify_for_nothing)
    # Then the repair does not say that another one would help
    diagnosis = editor.doctor(fix=True)
    [left] = diagnosis.status.problems
    assert (diagnosis.mended, left.kind, left.mendable) == ((), ProblemKind.RULE_ELSEWHERE, False)
    assert left.way_out == "it was set right, and is wrong again: find out who else changes it"


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


# What only a thorough look finds.


@pytest.mark.parametrize(("count", "what"), [(1, "1 task failed"), (100, "100 tasks failed")])
def test_failed_tasks(editor: Editor, backend: Backend, count: int, what: str) -> None:
    failure = Failure(type="E", message="")
    for number in range(count):
        task = new_task(id=f"task-{number}", action="act", due=DUE, payload=None, now=NOON)
        failed = task.failed(failure, now=NOON, keep=Keeping(retention=timedelta(days=1)))
        assert backend.store.insert(failed)
    assert editor.status().failed == count
    found = problem(editor, ProblemKind.FAILED_TASKS)
    assert found.what == what
    assert "`duebell list --status failed`" in found.way_out
    assert editor.list(status=Status.FAILED, limit=1).tasks


@pytest.mark.parametrize(("ago", "count"), [(OVERDUE - timedelta(seconds=1), 0), (OVERDUE, 3)])
def test_overdue_tasks_are_counted(
    editor: Editor, backend: Backend, clock: Clock, ago: timedelta, count: int
) -> None:
    for lane in range(3):
        write(backend, NOON, lane=lane)
    write(backend, NOON + timedelta(days=1), lane=3)
    clock.now = NOON + ago
    assert editor.status().overdue == count


def test_a_table_of_an_older_version_says_what_it_lacks_and_the_way_out(
    backend: Backend, editor: Editor
) -> None:
    # Given a table without the index of the past, as DynamoDB says it, with a task in it
    def refuse(model: OperationModel, params: dict[str, Any], **_: object) -> tuple[Any, Any] | None:
        if b"past-index" not in params["body"]:
            return None
        message = "The table does not have the specified index: past-index"
        error = {"Code": "ValidationException", "Message": message}
        return SimpleNamespace(status_code=400), {"Error": error, "ResponseMetadata": {"HTTPStatusCode": 400}}

    events: Any = backend.store._client.meta.events  # type: ignore[attr-defined]
    events.register("before-call.dynamodb.Query", refuse)
    editor.add("act", due=DUE, id="one")
    # Then all goes on but what needs it
    assert [task.id for task in editor.list().tasks] == ["one"]
    found = problem(editor, ProblemKind.PAST_INDEX)
    assert "no past-index" in found.what
    assert found.way_out == "`duebell deploy` adds it"
    assert (editor.status().failed, editor.status().lanes) == (None, 4)
    with pytest.raises(NotDeployed, match="`duebell deploy` adds it"):
        editor.list(status="failed")


# When it cannot be looked at.


def test_a_table_that_is_not_there(session: boto3.Session) -> None:
    editor = Editor(Settings(table="other"), session=session)
    found = problem(editor, ProblemKind.TABLE)
    assert found.what == "there is no DynamoDB table 'other' in eu-central-1"
    assert (editor.status().lanes, editor.status().expression) == (0, "")


@pytest.mark.parametrize(
    ("name", "method", "kind"),
    [("store", "read_record", ProblemKind.TABLE), ("rule", "read", ProblemKind.RULE)],
)
def test_what_aws_refuses_is_a_problem_and_what_it_does_not_answer_is_an_error(
    editor: Editor,
    backend: Backend,
    *,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    method: str,
    kind: ProblemKind,
) -> None:
    def failing(error: Exception) -> Callable[[], None]:
        def fail() -> None:
            raise error

        return fail

    editor.ensure_armed()
    monkeypatch.setattr(getattr(backend, name), method, failing(AwsRefused("may not")))
    found = problem(editor, kind)
    assert str(found) == "may not: give whoever runs this the permissions of an editor"
    monkeypatch.setattr(getattr(backend, name), method, failing(AwsUnavailable("no answer")))
    with pytest.raises(AwsUnavailable, match="no answer"):
        editor.status()


# Setting it right.


def test_ensure_armed_does_no_harm(editor: Editor, calls: Calls) -> None:
    editor.add("act", due=DUE)
    before = editor.ensure_armed()
    calls.clear()
    assert editor.ensure_armed() == before == editor.status()
    assert (calls["PutRule"], calls["PutItem"]) == (0, 0)


def test_ensure_armed_finds_all_that_the_record_lacks(editor: Editor, backend: Backend) -> None:
    write(backend, DUE)
    swap(backend, lambda record: ArmingRecord(lanes=(Lane(due=NEVER),) * 4, rev=record.rev))
    assert editor.ensure_armed().rings_at == DUE
