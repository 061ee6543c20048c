"""An action that is stoppable is told when its attempt counts no more, or the process is to end."""

from collections.abc import Callable, Collection
from datetime import datetime, timedelta

import pytest

import duebell
from duebell import Editor, Snooze, Status, Task, Worker
from duebell_shared.backend import Backend
from duebell_shared.tasks.task import QueueKey
from tests.support import NOON, Clock
from tests.worker.hosted import HOUR, MINUTE, SECOND, Hosted
from tests.worker.stage import Stage


def steps_until_told(stage: Stage, clock: Clock, told: list[datetime], *, most: int = 600) -> None:
    """For a stoppable action: work in steps of a second until it is told to stop."""
    stop = duebell.stopping()
    for _ in range(most):
        if stop.is_set():
            told.append(clock.now)
            return
        stage.sleep(1)


CHANGES: dict[str, Callable[[Editor], object]] = {
    "cancelled": lambda editor: editor.cancel("a"),
    "moved": lambda editor: editor.move("a", due=NOON + HOUR),
    "replaced": lambda editor: editor.add("work", due=NOON + HOUR, id="a", if_exists="replace"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_an_action_is_told_when_its_task_is(
    change: Callable[[Editor], object], editor: Editor, staged: Worker, stage: Stage, clock: Clock
) -> None:
    # Given two actions that run, and a user who changes the task of one of them
    told: list[datetime] = []
    staged.action("work", stoppable=True)(lambda: steps_until_told(stage, clock, told))

    @staged.action("user")
    def user() -> None:
        stage.sleep(20)
        change(editor)

    staged.action("other", stoppable=True)(lambda: steps_until_told(stage, clock, told, most=60))
    for action in ("work", "user", "other"):
        editor.add(action, due=NOON, id=action[0] if action != "work" else "a")
    report = staged.run(time_left=10 * MINUTE)
    # Then that action alone is told, within some seconds, and its outcome does not count
    [at] = told
    assert NOON + 20 * SECOND <= at <= NOON + 25 * SECOND
    assert (report.superseded, report.done) == (1, 2)
    assert editor.get("a").status is not Status.DONE


def test_it_is_told_at_its_time_out(editor: Editor, staged: Worker, stage: Stage, clock: Clock) -> None:
    told: list[datetime] = []
    staged.action("work", stoppable=True, timeout=MINUTE)(lambda: steps_until_told(stage, clock, told))
    editor.add("work", due=NOON, id="a")
    assert staged.run(time_left=90 * SECOND).retried == 1
    stage.wake_all()
    assert len(told) == 1
    assert staged.lost_places == 0


def test_it_is_told_when_the_lambda_has_no_time_left(
    editor: Editor, staged: Worker, stage: Stage, clock: Clock
) -> None:
    told: list[datetime] = []

    @staged.action("work", stoppable=True)
    def work() -> None:
        steps_until_told(stage, clock, told)
        raise Snooze(0)

    editor.add("work", due=NOON, id="a")
    # When 5 minutes are left
    report = staged.run(time_left=5 * MINUTE)
    # Then it is told 20 seconds before the end, and has time to put its task off, which costs no attempt
    assert timedelta(0) <= told[0] - (NOON + 280 * SECOND) <= 2 * SECOND
    assert (report.snoozed, editor.get("a").attempt) == (1, 0)


def test_it_is_told_when_the_process_is_to_end(hosted: Hosted) -> None:
    told: list[datetime] = []
    hosted.worker.action("work", stoppable=True)(lambda: steps_until_told(hosted.stage, hosted.clock, told))
    hosted.add("work", NOON)
    assert hosted.run_until(NOON + MINUTE)
    assert timedelta(0) <= told[0] - (NOON + MINUTE) <= 3 * SECOND


def test_it_is_told_when_the_lease_is_lost(hosted: Hosted) -> None:
    told: list[datetime] = []
    hosted.worker.action("work", stoppable=True)(lambda: steps_until_told(hosted.stage, hosted.clock, told))
    hosted.add("work", NOON)
    hosted.lose_the_lease(0, 1, 2, 3)
    hosted.run_until(NOON + 5 * MINUTE)
    assert hosted.log.lines("lease_lost")
    assert told[0] <= NOON + 4 * MINUTE


def test_outside_of_a_stoppable_action_there_is_no_event(editor: Editor, worker: Worker) -> None:
    worker.action("work", stoppable=True)(duebell.stopping)
    worker.action("plain", attempts=1)(duebell.stopping)
    for action in ("work", "plain"):
        editor.add(action, due=NOON, id=action)
    assert worker.run().done == 1
    failure = editor.get("plain").failure
    assert failure
    outside = "duebell.stopping() was called outside of a stoppable action: declare the action with "
    way_out = "@worker.action(stoppable=True), and call it in the thread that runs the action"
    assert failure.message == outside + way_out
    with pytest.raises(RuntimeError, match="outside of a stoppable action"):
        duebell.stopping()


@pytest.mark.parametrize(("stoppable", "reads"), [(False, 0), (True, 10)])
def test_only_running_tasks_of_stoppable_actions_are_read(
    stoppable: bool, reads: int, editor: Editor, backend: Backend, stage: Stage
) -> None:
    asked: list[list[str]] = []
    get_many = backend.store.get_many

    def asked_for(keys: Collection[QueueKey]) -> dict[str, Task]:
        asked.append([key.id for key in keys])
        return get_many(keys)

    vars(backend.store)["get_many"] = asked_for
    worker = Worker(backend=backend, pool=stage)
    worker.action("work", stoppable=stoppable)(lambda: stage.sleep(30))
    worker.action("plain")(lambda: stage.sleep(30))
    for action in ("work", "plain"):
        editor.add(action, due=NOON, id=action)
    worker.run(time_left=5 * MINUTE)
    assert asked == [["work"]] * reads
