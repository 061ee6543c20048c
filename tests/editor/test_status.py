"""The status: when all is well, what is wrong with the rule, the tasks or the lanes, and when AWS refuses."""

from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import boto3
import pytest
from botocore.model import OperationModel
from msgspec.structs import replace

from duebell import Editor, Failure, LateRing, Problem, ProblemKind, Settings, Worker
from duebell_infra.testing import InlinePool
from duebell_shared.backend import Backend
from duebell_shared.bell.arming import GRACE, ArmingRecord, Fullest, Lane
from duebell_shared.bell.bell import BellState
from duebell_shared.bell.expression import SENTINEL
from duebell_shared.errors import AwsRefused, AwsUnavailable, NotDeployed
from duebell_shared.instants import MILLISECOND, render
from duebell_shared.queue.lane_sizes import GIGABYTE
from duebell_shared.settings import Color
from duebell_shared.tasks.status import RetentionPolicy
from tests.editor.memory import Scheduler
from tests.shared.on_moto import swap
from tests.support import NOON, REGION, Calls, Clock, SetFor

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

HOUR, MINUTE, SECOND = timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1)
DUE = NOON + HOUR

pytestmark = pytest.mark.usefixtures("whole_answers")


def problem(editor: Editor, kind: ProblemKind) -> Problem:
    """The one problem there is, which is of this kind."""
    status = editor.status()
    assert [each.kind for each in status.problems] == [kind]
    assert not status.healthy
    [found] = status.problems
    assert str(found) == f"{found.what}: {found.way_out}"
    return found


# When all is well.


def test_a_queue_never_used_is_well(editor: Editor) -> None:
    status = editor.status(thorough=True)
    assert status.healthy
    assert (status.table, status.rule, status.lanes) == ("duebell", "duebell", 4)
    assert (status.expression, status.enabled, status.armed) == (SENTINEL, True, True)
    assert (status.rings_at, status.next_due, status.running) == (None, None, 0)


def test_a_status_writes_nothing(editor: Editor, calls: Calls) -> None:
    editor.ensure_armed()
    calls.clear()
    editor.status(thorough=True)
    assert set(calls) == {"GetItem", "Query", "DescribeRule", "ListTargetsByRule", "GetQueueAttributes"}


# When it cannot be looked at.


@pytest.mark.parametrize(
    ("message", "what", "way_out"),
    [
        (
            "The table does not have the specified index: past-index",
            "no past-index",
            "create it by the command in docs/operations.md, beside past_index",
        ),
        (
            "Cannot read from backfilling global secondary index: past-index",
            "still building the past-index",
            "wait some minutes, for a large table hours, and repeat",
        ),
    ],
    ids=["missing", "being built"],
)
def test_a_table_whose_past_index_cannot_be_read_says_why_and_goes_on(
    backend: Backend, editor: Editor, message: str, what: str, way_out: str
) -> None:
    # Given a table whose index of the past cannot be read, as DynamoDB says it, with a task in it
    def refuse(model: OperationModel, params: dict[str, Any], **_: object) -> tuple[Any, Any] | None:
        if b"past-index" not in params["body"]:
            return None
        error = {"Code": "ValidationException", "Message": message}
        return SimpleNamespace(status_code=400), {"Error": error, "ResponseMetadata": {"HTTPStatusCode": 400}}

    events: Any = backend.store._client.meta.events  # type: ignore[attr-defined]
    events.register("before-call.dynamodb.Query", refuse)
    editor.add("act", due=DUE, id="one")
    # Then all goes on but what needs it
    assert [task.id for task in editor.list().tasks] == ["one"]
    found = problem(editor, ProblemKind.PAST_INDEX)
    assert what in found.what
    assert found.way_out == way_out
    assert (editor.status().failed, editor.status().lanes) == (None, 4)
    with pytest.raises(NotDeployed, match=way_out):
        editor.list(status="failed")
    with pytest.raises(NotDeployed, match=way_out):
        editor.relane(8)


def test_a_table_that_is_not_there(session: boto3.Session, clock: Clock) -> None:
    editor = Editor(backend=Backend.connect(Settings(table="other"), session, clock=clock))
    found = problem(editor, ProblemKind.TABLE)
    assert found.what == "there is no DynamoDB table 'other' in eu-central-1"
    assert [one.kind for one in editor.doctor().status.problems] == [ProblemKind.TABLE]


@pytest.mark.parametrize(
    ("name", "method", "kind"),
    [("store", "read_record", ProblemKind.TABLE), ("rule", "read", ProblemKind.RULE)],
)
def test_what_aws_refuses_is_a_problem_and_what_it_does_not_answer_is_an_error(
    editor: Editor, backend: Backend, name: str, method: str, kind: ProblemKind
) -> None:
    editor.ensure_armed()
    with patch.object(getattr(backend, name), method, side_effect=AwsRefused("may not")):
        assert str(problem(editor, kind)) == "may not: give this user or role the permissions of a client"
    with (
        patch.object(getattr(backend, name), method, side_effect=AwsUnavailable("no answer")),
        pytest.raises(AwsUnavailable, match="no answer"),
    ):
        editor.status()


@pytest.mark.moto
def test_the_region_and_the_account_are_those_of_the_rule(session: boto3.Session, clock: Clock) -> None:
    settings = Settings(color=Color.RED)
    status = Editor(backend=Backend.connect(settings, session, clock=clock)).status()
    assert (status.name, status.region, status.account) == ("duebell", REGION, "123456789012")
    assert status.color is Color.RED
    sales = Backend.connect(Settings(name="sales"), session, clock=clock)
    assert Editor(backend=sales).status().name == "sales"


@pytest.mark.parametrize("arn", ["", "arn", "a:b:c"])
def test_an_arn_that_tells_nothing_is_nowhere(arn: str) -> None:
    assert BellState(expression="", state="ENABLED", arn=arn).place == ("", "")


# Problems that tests/cli/test_runbook.py does not play.


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


def test_what_is_worst_comes_first_and_nothing_is_promised_of_a_disabled_rule(
    editor: Editor, events: "EventBridgeClient", backend: Backend, clock: Clock
) -> None:
    # Given a failed task, one that is overdue, and a rule that is disabled
    task = editor.add("act", due=DUE)
    failure = Failure(type="E", message="")
    assert backend.store.save(task, task.failed(failure, now=clock.now, keep=RetentionPolicy()))
    editor.add("act", due=MINUTE)
    events.disable_rule(Name="duebell")
    clock.advance(30 * MINUTE)
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
    sooner, read = DUE - MINUTE, backend.rule.read

    def read_late() -> BellState:
        monkeypatch.setattr(backend.rule, "read", read)
        editor.add("act", due=sooner)
        return read()

    monkeypatch.setattr(backend.rule, "read", read_late)
    # Then the status is of one moment
    status = editor.status()
    assert status.healthy
    assert (status.next_due, status.rings_at) == (sooner, sooner)


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"fullest": Fullest(lane=3, bytes=7 * GIGABYTE, measured_at=NOON)}, ""),
        ({"fullest": Fullest(lane=3, bytes=8 * GIGABYTE, measured_at=NOON)}, "lane 3 held 8 GB at 2026-11"),
        ({"relaner": "someone", "relaner_until": NOON + MINUTE}, ""),
        ({"relaner": "someone", "relaner_until": NOON - MINUTE}, "giving the queue more lanes was "),
    ],
)
def test_a_lane_that_fills_and_a_relane_that_was_broken_off_are_told(
    scheduler: Scheduler, fields: dict[str, Any], what: str
) -> None:
    scheduler.editor.ensure_armed()
    scheduler.backend.armer.change(lambda record: replace(record, **fields))
    told = "; ".join(problem.what for problem in scheduler.editor.status().problems)
    assert (told.startswith(what), bool(told)) == (True, bool(what))


@pytest.mark.parametrize(("late", "is_told"), [(GRACE, False), (GRACE + MILLISECOND, True)])
def test_a_lease_that_ended_is_told_after_a_grace(
    scheduler: Scheduler, late: timedelta, *, is_told: bool
) -> None:
    held = (Lane(owner="run", until=NOON - late),) * 4
    scheduler.backend.armer.change(lambda record: replace(record, lanes=held))
    kinds = [problem.kind for problem in scheduler.editor.status().problems]
    assert (ProblemKind.LEASE_EXPIRED in kinds) is is_told


def test_a_date_that_has_passed_is_not_overdue_when_it_was_just_added(scheduler: Scheduler) -> None:
    task = scheduler.editor.add("act", due=-1000 * HOUR)
    assert (task.due, task.queued) == (NOON - 1000 * HOUR, NOON)
    assert scheduler.editor.status().healthy
    scheduler.clock.advance(10 * MINUTE)
    found = {one.kind: one for one in scheduler.editor.status().problems}[ProblemKind.OVERDUE]
    assert found.what.startswith("tasks are overdue, the first since 2026-11-21T12:00:00.000Z, and no run")


# A ring that is lost.


def run_at(scheduler: Scheduler, now: datetime) -> None:
    scheduler.clock.now = now
    worker = Worker(backend=scheduler.backend, pool=lambda _: InlinePool())
    worker.action("act")(lambda: None)
    worker.run()


def test_while_a_ring_is_missed_the_status_says_when_its_echo_comes(scheduler: Scheduler) -> None:
    scheduler.editor.add("act", due=DUE)
    scheduler.clock.now = DUE + 3 * MINUTE
    status = scheduler.editor.status()
    assert status.expression == SetFor(DUE)
    assert status.rings_at == DUE + 4 * MINUTE
    problem = next(problem for problem in status.problems if problem.kind is ProblemKind.NOT_ARMED)
    assert problem.what == f"the rule should have rung at {render(DUE)}, and no run has come since"
    assert problem.way_out.endswith(f"; or wait for the rule's echo at {render(DUE + 4 * MINUTE)}")


@pytest.mark.parametrize("echo", [4 * MINUTE, 27 * MINUTE, 5 * HOUR])
def test_when_an_echo_brought_the_run_the_status_says_so(scheduler: Scheduler, echo: timedelta) -> None:
    scheduler.editor.add("act", due=DUE, id="one")
    run_at(scheduler, DUE + echo + 20 * SECOND)
    assert scheduler.editor.get("one").finished_at
    status = scheduler.editor.status()
    assert status.late_ring == LateRing(minute=DUE, came_at=DUE + echo + 20 * SECOND)
    assert status.healthy
    # And it goes on saying so when rings come in time again
    scheduler.editor.add("act", due=3 * HOUR)
    run_at(scheduler, scheduler.clock.now + 3 * HOUR + MINUTE)
    assert scheduler.editor.status().late_ring == status.late_ring


@pytest.mark.parametrize(
    "held",
    [
        {"lanes": (Lane(owner="nobody", until=NOON + timedelta(days=100)),)},
        {"lanes": (Lane(),), "applier": "nobody", "applier_until": NOON + timedelta(days=100)},
        {"lanes": (Lane(),), "relaner": "nobody", "relaner_until": NOON + timedelta(days=100)},
    ],
)
def test_a_record_is_held_too_long_by_whoever_holds_it(held: dict[str, Any]) -> None:
    assert ArmingRecord(**held).is_held_too_long(NOON)
    assert not ArmingRecord(**held).is_held_too_long(NOON + timedelta(days=100))
