"""The invocation's time runs out: the run stops in good time, and the rest goes on in the next."""

import math
import threading
from collections.abc import Collection
from concurrent.futures import Future
from datetime import timedelta
from typing import TYPE_CHECKING

from duebell import Editor, RunReport, Status, Worker
from duebell_shared.backend import Backend
from duebell_worker.run.context import ThreadPool
from tests.support import NOON, Clock, SetFor
from tests.worker.stage import Stage

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


def test_no_task_is_started_when_time_is_short_and_the_rest_goes_on_in_the_next_run(
    editor: Editor, backend: Backend, stage: Stage, clock: Clock, events: "EventBridgeClient"
) -> None:
    # Given ten tasks of 40 seconds each, one at a time, and 5 minutes
    worker = Worker(backend=backend, pool=stage, concurrency=1)
    worker.action("act")(lambda: stage.sleep(40))
    editor.add_many({"action": "act", "due": NOON + n * SECOND, "id": f"task-{n}"} for n in range(10))
    clock.advance(10 * SECOND)
    began = clock.now

    # When they are run
    report = worker.run(time_left=5 * MINUTE)

    # Then none is started in the last 20 seconds, and none is cut off
    assert (report.done, report.attempts, report.stopped_early) == (7, 7, True)
    assert clock.now - began == 280 * SECOND
    assert editor.get("task-7").status is Status.SCHEDULED
    assert editor.get("task-7").attempt == 0

    # And the lanes are given back, and the rule rings at the first minute that is safe
    record = backend.armer.read()
    assert record.lanes_of(report.run) == ()
    assert record.target == NOON + 7 * SECOND
    assert report.rings_at is not None
    assert MINUTE <= report.rings_at - clock.now < 2 * MINUTE
    assert events.describe_rule(Name="duebell")["ScheduleExpression"] == SetFor(report.rings_at)

    # When it rings, the rest is done
    clock.now = report.rings_at
    report = worker.run(time_left=5 * MINUTE)
    assert (report.done, report.stopped_early, report.rings_at) == (3, False, None)


def test_an_action_that_hangs_is_given_up_on_and_retried_later(
    editor: Editor, staged: Worker, backend: Backend, stage: Stage, clock: Clock
) -> None:
    # Given an action that hangs the first time, beside one that does not
    began = []

    @staged.action("hang")
    def hang() -> None:
        began.append(clock.now)
        if len(began) == 1:
            stage.sleep(math.inf)

    staged.action("act")(lambda: stage.sleep(5))
    editor.add("hang", due=NOON, id="a")
    editor.add("act", due=NOON, id="b")

    # When they are run with 5 minutes
    report = staged.run(time_left=5 * MINUTE)

    # Then it is a failed attempt, some seconds before the end
    assert (report.done, report.retried, report.stopped_early) == (1, 1, True)
    assert timedelta(0) < NOON + 5 * MINUTE - clock.now <= 15 * SECOND
    task = editor.get("a")
    assert (task.status, task.attempt) == (Status.SCHEDULED, 1)
    assert task.failure is not None
    assert task.failure.type == "Unfinished"
    assert "was still running when the worker's time was up" in task.failure.message
    assert backend.armer.read().lanes_of(report.run) == ()

    # When the hung one comes to an end after all, it writes nothing any more
    stage.wake_all()
    assert editor.get("a") == task

    # When the rule rings again, it is retried
    assert report.rings_at is not None
    clock.now = report.rings_at
    assert staged.run(time_left=5 * MINUTE).done == 1


class WatchedPool(ThreadPool):
    """Threads, and an event that says when the run waits for them."""

    is_waited_for = threading.Event()

    def wait(self, futures: Collection[Future[None]], patience: timedelta) -> Collection[Future[None]]:
        self.is_waited_for.set()
        return super().wait(futures, patience)


def test_a_thread_that_hangs_does_not_hold_the_run_up(editor: Editor, backend: Backend, clock: Clock) -> None:
    # Given an action that hangs in its thread, and one that ends when the time is up
    worker = Worker(backend=backend, pool=WatchedPool)
    hangs, free = threading.Event(), threading.Event()

    @worker.action("hang")
    def hang() -> None:
        hangs.set()
        free.wait(timeout=60)

    @worker.action("act")
    def act() -> None:
        hangs.wait(timeout=60)
        WatchedPool.is_waited_for.wait(timeout=60)
        clock.advance(55 * SECOND)

    editor.add("hang", due=NOON, id="a")
    editor.add("act", due=NOON, id="b")

    # When they are run, then the run ends while the thread still hangs
    reports: list[RunReport] = []
    run = threading.Thread(target=lambda: reports.append(worker.run(time_left=MINUTE)))
    run.start()
    run.join(timeout=30)
    ended = not run.is_alive()
    free.set()
    run.join()
    assert ended
    assert [(report.done, report.retried, report.stopped_early) for report in reports] == [(1, 1, True)]
