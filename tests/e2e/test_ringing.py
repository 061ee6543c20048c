"""The whole way of a task, for real: rung for by the rule, to the second, or after a heartbeat."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from msgspec.structs import astuple

from duebell import Editor, InvalidTask, ProblemKind, Status, TaskNotFound, Then, WaitCause
from duebell_infra.local.stack import EmbeddedStack
from duebell_infra.local.worker_log import WorkerLog
from duebell_shared.bell.expression import SENTINEL
from duebell_shared.instants import utc_now
from duebell_shared.settings import Precision
from tests.e2e.deployer import LATER, Deployer
from tests.e2e.support import ACTIONS, HERE, wait_for
from tests.support import SetFor

pytestmark = pytest.mark.e2e

SOON = timedelta(seconds=2)

#: More than the action may start in a second.
LIMITED = tuple(f"ring-limited-{n}" for n in range(4))


def is_done(editor: Editor, id: str) -> bool:
    """Tell whether there is this task, and it is done."""
    try:
        return editor.get(id).status is Status.DONE
    except TaskNotFound:
        return False


def add_followed_and_limited(editor: Editor) -> None:
    """Tasks that something follows, when they are done or have failed; and those of a limited action."""
    editor.add("succeed", due=SOON, id="ring-followed", then=Then("succeed", {"n": 3}))
    editor.add("fail", due=SOON, id="ring-failing", on_failed="succeed")
    editor.add_many({"action": "one_a_second", "due": SOON, "id": id} for id in LIMITED)


def check_followed_and_limited(editor: Editor) -> None:
    """The follow-ups are done, and the tasks of the limited action were started a second after each other."""
    wait_for(lambda: is_done(editor, "ring-followed/then") and is_done(editor, "ring-failing/failed"))
    assert editor.get("ring-followed/then").payload == {"n": 3}
    report = editor.get("ring-failing/failed").payload
    assert (report["id"], report["error"]["type"], report["attempts"]) == ("ring-failing", "RuntimeError", 1)
    for owed in ("ring-followed", "ring-failing"):
        assert (editor.get(owed).owes, editor.get(owed).follow_up_error) == (None, None)
    wait_for(lambda: all(is_done(editor, id) for id in LIMITED))
    tasks = [editor.get(id) for id in LIMITED]
    starts = sorted(task.started_at for task in tasks if task.started_at)
    assert starts[-1] - starts[0] > timedelta(seconds=2)
    assert {task.attempt for task in tasks} == {1}


def check_the_worker_is_known(editor: Editor) -> None:
    """The worker of the bundle has made itself known: what its action cannot read is not stored."""
    worker = editor.worker()
    assert worker
    assert (worker.error, {one.name: one.attempts for one in worker.actions}["fail_once"]) == (None, 3)
    with pytest.raises(InvalidTask, match=r"^payload: must be text, for the action 'tell'"):
        editor.add("tell", due=SOON, payload={})


def test_a_rule_that_really_fires_runs_what_is_due(stack: EmbeddedStack, stack_editor: Editor) -> None:
    editor = stack_editor
    log = WorkerLog(stack.worker_log)
    # Given tasks that are due soon, one for later, and the rule armed for the first
    next_year = datetime(2100, 1, 1, tzinfo=UTC)
    editor.add("succeed", due=SOON, id="ring-done", payload={"n": 2**70})
    editor.add("fail_once", due=SOON, id="ring-retried")
    editor.add("no_such_action", due=SOON, id="ring-unknown")
    editor.add("succeed", due=next_year, id="ring-later")
    # Among them one that its action puts off, and one that is pushed from next year to at most so soon
    editor.add("snooze_once", due=SOON, id="ring-snoozed", payload={"page": 1})
    editor.add("succeed", due=next_year, id="ring-pushed", if_exists="push", payload={"n": 1})
    editor.add("succeed", due=next_year, id="ring-pushed", if_exists="push", max_wait=SOON, payload={"n": 2})
    add_followed_and_limited(editor)
    check_the_worker_is_known(editor)
    assert editor.status().rings_at

    # When the rule rings
    wait_for(lambda: editor.get("ring-done").status.is_finished)
    wait_for(lambda: editor.get("ring-unknown").status.is_finished)
    # Then the worker has measured the parts of its lateness, by the event of the ring
    why = editor.why("ring-done")
    assert why.cause is WaitCause.STARTED
    assert why.lateness
    assert why.lateness.rounding + why.lateness.ring + why.lateness.start > 0, why
    assert sum(astuple(why.lateness)) == editor.get("ring-done").lateness_ms

    # Then each is what it should be, and the history says how it went
    done = editor.get("ring-done")
    assert done.status is Status.DONE
    assert (done.attempt, done.payload) == (1, {"n": 2**70})
    assert done.started_at
    assert done.started_at >= done.due
    assert done.run
    unknown = editor.get("ring-unknown")
    assert unknown.status is Status.FAILED
    assert unknown.failure
    assert unknown.failure.type == "UnknownAction"
    assert "succeed" in unknown.failure.message
    # The worker said so, too
    wait_for(lambda: any("ring-done" in line for line in log.new_lines()))
    # And the one that failed is done with the next ring
    wait_for(lambda: editor.get("ring-retried").status is Status.DONE)
    assert editor.get("ring-retried").attempt == 2
    # As is the one that was snoozed, at its only attempt and with the payload that its action gave it
    wait_for(lambda: editor.get("ring-snoozed").status is Status.DONE)
    snoozed = editor.get("ring-snoozed")
    assert (snoozed.attempt, snoozed.payload) == (1, {"page": 2})
    assert (snoozed.failure, snoozed.failures) == (None, ())
    # And the one that was pushed is done once, in time
    pushed = editor.get("ring-pushed")
    assert (pushed.status, pushed.attempt, pushed.payload) == (Status.DONE, 1, {"n": 2})
    assert pushed.due < next_year
    check_followed_and_limited(editor)

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
