"""What leads from the rule to the worker and was deleted: the doctor sees it, and its repair puts it back."""

import boto3
import pytest

from duebell import AwsRefused, Editor, ProblemKind, Settings
from duebell_editor.status.doctor import restore
from duebell_shared.aws.alarms import Alarms
from duebell_shared.backend import Backend
from duebell_shared.bell.bell import BellKind
from tests.editor.health import DUE
from tests.support import SCHEDULED, Clock, create_function, create_schedule, let_pass_its_role, let_ring

pytestmark = pytest.mark.moto


def delete_target(session: boto3.Session) -> None:
    session.client("events").remove_targets(Rule="duebell", Ids=["worker"])


def delete_permission(session: boto3.Session) -> None:
    session.client("lambda").remove_permission(FunctionName="duebell", StatementId="stack")


def delete_rule(session: boto3.Session) -> None:
    delete_target(session)
    session.client("events").delete_rule(Name="duebell")


def delete_all(session: boto3.Session) -> None:
    delete_permission(session)
    delete_rule(session)


@pytest.fixture
def backend(session: boto3.Session, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Backend:
    """A stack whose rule may invoke the worker, and a task that waits."""
    monkeypatch.setattr(Alarms, "silence", lambda _: None)
    create_function(session)
    let_ring(session)
    backend = Backend.connect(Settings(function="duebell"), session, clock=clock, sleep=clock.sleep)
    Editor(backend=backend).add("act", due=DUE)
    assert Editor(backend=backend).doctor().status.healthy
    return backend


def test_no_rule_is_made_where_there_is_no_function(session: boto3.Session, clock: Clock) -> None:
    # Given a name that is wrong
    backend = Backend.connect(Settings(rule="other"), session, clock=clock, sleep=clock.sleep)
    with pytest.raises(AwsRefused, match=r"cannot be put back: .*`duebell deploy`"):
        Editor(backend=backend).doctor(fix=True)
    assert [one["Name"] for one in session.client("events").list_rules()["Rules"]] == ["duebell"]


def test_a_deleted_schedule_is_put_back_with_its_role_and_armed(
    backend: Backend, session: boto3.Session, clock: Clock
) -> None:
    # Given a queue that a schedule wakes the worker for, which somebody deletes
    create_schedule(session)
    let_pass_its_role(session)
    settings = Settings(function="duebell", bell=BellKind.SCHEDULE)
    editor = Editor(backend=Backend.connect(settings, session, clock=clock, sleep=clock.sleep))
    editor.ensure_armed()
    schedules = session.client("scheduler")
    schedules.delete_schedule(Name="duebell")
    [problem] = editor.doctor().status.problems
    assert (problem.kind, problem.mendable) == (ProblemKind.RULE, True)
    # When the doctor repairs it
    diagnosis = editor.doctor(fix=True)
    # Then it is as the stack made it, and rings for the task
    assert {one.kind for one in diagnosis.mended} == {ProblemKind.RULE}
    status = diagnosis.status
    assert (status.healthy, status.armed, status.rings_at) == (True, True, DUE)
    assert schedules.get_schedule(Name="duebell")["Target"] == SCHEDULED
    assert restore(backend) == ()
