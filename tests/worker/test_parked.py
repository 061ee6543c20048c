"""Tasks that were put back for hours while their action was paused, once that goes on."""

from datetime import timedelta

import pytest

from duebell import Editor, Then, Worker
from duebell_shared.backend import Backend
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import Task
from tests.support import NOON, Clock
from tests.worker.hooks import Hooks
from tests.worker.other_runs import die_while_running
from tests.worker.scene import MINUTE
from tests.worker.test_follow_ups import refuse_follow_ups


@pytest.fixture
def started(worker: Worker) -> list[Task]:
    """The tasks that the action `mail` was called with; it is tried once."""
    started: list[Task] = []

    @worker.action("mail", attempts=1)
    def mail(_: object, task: Task) -> None:
        started.append(task)

    worker.action("hear")(lambda: None)
    return started


@pytest.fixture
def parked(editor: Editor, worker: Worker, started: list[Task], clock: Clock) -> Task:
    """A task with a follow-up that was parked for hours, and whose action goes on ten minutes later."""
    editor.add("mail", due=NOON, id="one", then=Then("hear"))
    editor.limit("mail", at_most=0)
    worker.run()
    clock.advance(10 * MINUTE)
    editor.limit("mail", at_most=None)
    task = editor.get("one")
    assert task.queued
    assert task.queued > clock() + timedelta(hours=1)
    return task


def test_the_last_attempt_is_told_since_when_it_waited(
    parked: Task, editor: Editor, worker: Worker, started: list[Task]
) -> None:
    report = worker.run()
    [task] = started
    assert (task.limited_since, task.lateness_ms) == (NOON, 600_000)
    assert report.lateness_max_ms == 600_000
    assert editor.get("one").lateness_ms == 600_000


@pytest.mark.usefixtures("parked", "started")
def test_the_rule_does_not_ring_for_where_it_was_parked(editor: Editor, worker: Worker) -> None:
    editor.update("one", then=None)
    assert worker.run().rings_at is None


@pytest.mark.usefixtures("parked")
def test_a_run_that_dies_in_the_last_attempt_does_not_leave_it_parked(
    editor: Editor, worker: Worker, backend: Backend, clock: Clock, started: list[Task]
) -> None:
    die_while_running(backend, clock, "one", last=1)
    worker.run()
    # Then it is over, as its attempts are used up
    task = editor.get("one")
    assert (task.status, task.queued) == (Status.FAILED, None)
    assert task.failure
    assert task.failure.type == "WorkerDied"
    assert not started


def test_a_follow_up_that_could_not_be_added_does_not_wait_where_the_task_was_parked(
    parked: Task, editor: Editor, worker: Worker, clock: Clock, aws: Hooks
) -> None:
    # Given a task whose action has gone on, and whose follow-up AWS refuses for now
    mend = refuse_follow_ups(aws)
    report = worker.run()
    assert editor.get("one").owes
    # Then the rule rings for it
    assert report.rings_at
    assert report.rings_at <= clock.now + 3 * MINUTE
    # And it is added, even if the action is paused again
    mend()
    editor.limit("mail", at_most=0)
    clock.advance(MINUTE)
    worker.run()
    assert editor.get("one").owes is None
    assert editor.get("one/then").status is Status.DONE


def test_a_run_whose_clock_is_behind_does_not_start_it_early(
    editor: Editor, worker: Worker, clock: Clock, started: list[Task]
) -> None:
    # Given a task that was parked when it came due, by a run whose clock is ahead
    editor.add("mail", due=NOON, id="one")
    editor.limit("mail", at_most=0)
    clock.now = NOON + timedelta(seconds=1)
    worker.run()
    # When its action goes on, and a run looks by whose clock it is not due
    clock.now = NOON - timedelta(seconds=20)
    editor.limit("mail", at_most=None)
    worker.run(time_left=MINUTE)
    # Then it is started when it is
    [task] = started
    assert task.started_at
    assert NOON <= task.started_at < NOON + timedelta(seconds=1)
    assert editor.get("one").attempt == 1
