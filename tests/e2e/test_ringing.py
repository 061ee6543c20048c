"""The whole way of a task: rung for by a rule or a schedule, to the second, or after a heartbeat."""

from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError
from msgspec.structs import astuple

from duebell import Editor, InvalidTask, ProblemKind, Status, Then, WaitCause
from duebell_infra.errors import InvalidDeployment
from duebell_infra.local.stack import EmbeddedStack
from duebell_infra.local.worker_log import WorkerLog
from duebell_shared.bell.bell import BellKind
from duebell_shared.bell.expression import SENTINEL
from duebell_shared.instants import utc_now
from duebell_shared.settings import Precision
from tests.e2e.deployer import LATER, Deployer
from tests.e2e.support import ACTIONS, HERE, wait_for
from tests.support import SetFor

pytestmark = pytest.mark.e2e

SOON = timedelta(seconds=2)


def test_a_rule_that_really_fires_runs_what_is_due(stack: EmbeddedStack, stack_editor: Editor) -> None:
    editor = stack_editor
    of = f"ring-{uuid4().hex}-{{}}".format  # the stack stays, if the test is run again
    log = WorkerLog(stack.worker_log)
    # Given a worker that has made itself known: what its action cannot read is not stored
    worker = editor.worker()
    assert worker
    assert (worker.error, {one.name: one.attempts for one in worker.actions}["fail_once"]) == (None, 3)
    with pytest.raises(InvalidTask, match=r"^payload: must be text, for the action 'tell'"):
        editor.add("tell", due=SOON, payload={})
    # And tasks that are due soon, one for later, and the rule armed for the first
    editor.add("succeed", due=SOON, id=of("done"), payload={"n": 2**70}, then=Then("succeed", {"n": 3}))
    editor.add("fail_once", due=SOON, id=of("retried"))
    editor.add("no_such_action", due=SOON, id=of("unknown"))
    editor.add("succeed", due=LATER, id=of("later"))
    # Among them one that its action puts off, one that is pushed to soon, and too many of a limited action
    editor.add("snooze_once", due=SOON, id=of("snoozed"), payload={"page": 1}, on_failed="succeed")
    editor.add("succeed", due=LATER, id=of("pushed"), payload={"n": 1})
    editor.add("succeed", due=LATER, id=of("pushed"), payload={"n": 2}, if_exists="push", max_wait=SOON)
    limited = editor.add_many({"action": "one_a_second", "due": SOON} for _ in range(4)).added
    assert editor.status().rings_at

    # When the rule rings
    wait_for(lambda: editor.get(of("done")).status.is_finished)
    wait_for(lambda: editor.get(of("unknown")).status.is_finished)
    # Then the worker has measured the parts of its lateness, by the event of the ring
    why = editor.why(of("done"))
    assert why.cause is WaitCause.STARTED
    if (late := editor.get(of("done")).lateness_ms or 0) >= 1_000:  # of less, no parts are kept
        assert why.lateness
        assert why.lateness.rounding + why.lateness.ring + why.lateness.start > 0, why
        assert sum(astuple(why.lateness)) == late

    # Then each is what it should be
    done = editor.get(of("done"))
    assert (done.status, done.attempt, done.payload) == (Status.DONE, 1, {"n": 2**70})
    assert done.started_at
    assert done.started_at >= done.due
    unknown = editor.get(of("unknown"))
    assert unknown.failure
    assert (unknown.status, unknown.failure.type) == (Status.FAILED, "UnknownAction")
    # The worker said so, too
    wait_for(lambda: any(of("done") in line for line in log.new_lines()))
    # And the one that failed is done with the next ring, as is the one that follows another
    wait_for(lambda: editor.get(of("retried")).status is Status.DONE)
    assert editor.get(of("retried")).attempt == 2
    wait_for(lambda: editor.get(of("done/then")).status is Status.DONE)
    assert editor.get(of("done/then")).payload == {"n": 3}
    # One was snoozed, at its only attempt and with the payload that its action gave it, and failed then
    wait_for(lambda: editor.get(of("snoozed")).status is Status.FAILED and not editor.get(of("snoozed")).owes)
    snoozed, told = editor.get(of("snoozed")), editor.get(of("snoozed/failed")).payload
    assert (snoozed.attempt, snoozed.payload, told["error"]["type"]) == (1, {"page": 2}, "RuntimeError")
    # The pushed one is done once, in time
    pushed = editor.get(of("pushed"))
    assert (pushed.status, pushed.attempt, pushed.payload) == (Status.DONE, 1, {"n": 2})
    # And those of the limited action started a second after each other
    wait_for(lambda: all(editor.get(id).status is Status.DONE for id in limited))
    starts = sorted(task.started_at for task in map(editor.get, limited) if task.started_at)
    assert starts[-1] - starts[0] > timedelta(seconds=2)

    # When nothing else is due any more, the rule is armed for what comes later
    def is_armed_for_the_head() -> bool:
        head = editor.list(limit=1).tasks[0]
        return editor.status().expression == SetFor(head.queued)

    wait_for(is_armed_for_the_head)
    wrong = {problem.kind for problem in editor.status().problems}
    assert wrong <= {ProblemKind.FAILED_TASKS, ProblemKind.FAILING_TASKS}


def test_tasks_start_at_their_second_and_never_before(tmp_path: Path) -> None:
    # Given a scheduler to the second, whose runs are so short that one has to hand over to another
    parameters = {"Precision": Precision.SECOND, "Timeout": "30"}
    with EmbeddedStack(tmp_path / "stack", actions=ACTIONS, folder=HERE, parameters=parameters) as stack:
        editor = Editor(stack.settings, session=stack.session)

        # When tasks are added that are due sooner than a rule could ring
        dues = [utc_now() + timedelta(seconds=seconds) for seconds in (0, 4.5, 9.25, 18, 33.5, 41)]
        tasks = [editor.add("succeed", due=due) for due in dues]
        rings_at = editor.status().rings_at
        assert rings_at

        # Then each is done, none of them early, and the first ones before the rule could have rung
        wait_for(lambda: editor.get(tasks[-1].id).status is Status.DONE)
        done = [editor.get(task.id) for task in tasks]
        assert all(task.status is Status.DONE and task.lateness_ms is not None for task in done)
        assert all(task.started_at and task.started_at >= task.due for task in done)
        assert done[1].started_at
        assert done[1].started_at < rings_at
        # By more than one run, each the successor of the one before
        assert len({task.run for task in done}) > 1


def test_a_heartbeat_repairs_a_rule_that_was_parked_by_hand(deployer: Deployer) -> None:
    events: Any = deployer.session.client("events")
    # Given a stack without a heartbeat, which has no second rule
    deployer.deploy()
    with pytest.raises(ClientError, match="ResourceNotFound"):
        events.describe_rule(Name=f"{deployer.name}-heartbeat")
    # And one with it
    editor = deployer.deploy(Heartbeat="hourly")
    rule = events.describe_rule(Name=f"{deployer.name}-heartbeat")
    assert (rule["ScheduleExpression"], rule["State"]) == ("rate(1 hour)", "ENABLED")
    editor.add("succeed", due=LATER, id="later")
    assert deployer.rule == SetFor(LATER)
    # When somebody parks the rule, and the heartbeat comes: each minute here, as nobody waits an hour
    events.put_rule(Name=deployer.name, ScheduleExpression=SENTINEL, State="ENABLED")
    events.put_rule(Name=f"{deployer.name}-heartbeat", ScheduleExpression="rate(1 minute)", State="ENABLED")
    # Then the worker sets it right
    wait_for(lambda: deployer.rule == SetFor(LATER))
    # And without the heartbeat the second rule goes
    deployer.deploy(Heartbeat="off")
    with pytest.raises(ClientError, match="ResourceNotFound"):
        events.describe_rule(Name=f"{deployer.name}-heartbeat")


def schedule(deployer: Deployer) -> dict[str, Any]:
    found: dict[str, Any] = deployer.session.client("scheduler").get_schedule(Name=deployer.name)
    return found


def test_a_live_queue_changes_its_bell_to_a_schedule_and_back(deployer: Deployer) -> None:
    # MiniStack fires schedules as it fires rules: a sweep every ten seconds
    # Given a queue whose rule is armed
    by_rule = deployer.deploy()
    by_rule.add("succeed", due=LATER, id="later")
    # When it is deployed with a schedule
    with pytest.raises(InvalidDeployment, match="OtherBell: cannot be no while Bell changes"):
        deployer.deploy(Bell="schedule", OtherBell="no")
    by_schedule = deployer.deploy(Bell="schedule")
    # Then both are armed
    assert schedule(deployer)["ScheduleExpression"] == deployer.rule == SetFor(LATER)
    assert any("remove it with --parameter OtherBell=no" in line for line in deployer.said)
    # And an editor that still sets the rule is heard
    by_rule.add("succeed", due=SOON, id="soon")
    assert deployer.rule != SetFor(LATER)
    assert schedule(deployer)["ScheduleExpression"] == SetFor(LATER)
    wait_for(lambda: by_rule.get("soon").status is Status.DONE)
    # When the rule is removed
    deployer.deploy(OtherBell="no")
    with pytest.raises(ClientError, match="ResourceNotFound"):
        assert deployer.rule
    # Then the schedule is armed
    assert schedule(deployer)["ScheduleExpression"] == SetFor(LATER)
    assert by_schedule.status().healthy
    assert by_schedule.status().bell is BellKind.SCHEDULE
    # And it wakes the worker alone, which sets it for the next, with all else as it was
    before = schedule(deployer)
    by_schedule.add("succeed", due=SOON, id="alone")
    wait_for(lambda: by_schedule.get("alone").status is Status.DONE)
    wait_for(lambda: schedule(deployer)["ScheduleExpression"] == SetFor(LATER))
    for kept in ("Target", "Description", "State", "FlexibleTimeWindow"):
        assert schedule(deployer)[kept] == before[kept], kept
    # And CloudFormation leaves it alone
    deployer.deploy(MemorySize="1024")
    assert schedule(deployer)["ScheduleExpression"] == SetFor(LATER)
    # And back
    deployer.deploy(Bell="rule")
    assert schedule(deployer)["ScheduleExpression"] == deployer.rule == SetFor(LATER)
    assert Editor(by_rule._backend.settings, session=deployer.session).status().healthy
