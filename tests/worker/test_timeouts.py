"""The time-out of an action: its attempt ends then, holds up nobody, and nothing that comes later counts."""

import asyncio
import math
import threading
from collections.abc import Callable, Collection
from concurrent.futures import Future
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from duebell import Editor, RunReport, Status, Worker
from duebell.testing import Rehearsal
from duebell_shared.backend import Backend
from duebell_worker.process import Health
from duebell_worker.run.context import ThreadPool
from tests.support import NOON, Clock
from tests.worker.hosted import HOUR, MINUTE, SECOND, Hosted
from tests.worker.stage import Stage

if TYPE_CHECKING:
    pass


def hanging(stage: Stage, *, times: int) -> Callable[[], None]:
    """The function of an action that hangs in its first calls."""
    left = [None] * times

    def hang() -> None:
        if left:
            left.pop()
            stage.sleep(math.inf)

    return hang


def test_an_attempt_ends_at_its_time_out_and_is_retried(
    editor: Editor, staged: Worker, backend: Backend, stage: Stage, clock: Clock
) -> None:
    # Given an action that hangs the first time
    staged.action("hang", timeout=MINUTE)(hanging(stage, times=1))
    editor.add("hang", due=NOON, id="a")
    # When it is run
    report = staged.run(time_left=10 * MINUTE)
    # Then the attempt has failed at its time-out, the run has ended, and its lanes are free
    assert (report.retried, report.stopped_early) == (1, False)
    assert clock.now - NOON <= MINUTE + 2 * SECOND
    assert backend.armer.read().lanes_of(report.run) == ()
    task = editor.get("a")
    assert task.status is Status.SCHEDULED
    assert str(task.failure) == "TimedOut: took longer than its time-out of 60 seconds"
    # When it returns after all
    stage.wake_all()
    # Then nothing of that is recorded
    assert editor.get("a") == task
    # And the next attempt is another one
    assert report.rings_at
    clock.now = report.rings_at
    assert staged.run(time_left=10 * MINUTE).done == 1
    assert editor.get("a").attempt == 2


def test_a_lambda_whose_places_are_all_lost_leaves_the_rest_to_the_next_run(
    editor: Editor, backend: Backend, stage: Stage, clock: Clock
) -> None:
    worker = Worker(backend=backend, pool=stage, concurrency=1)
    worker.action("hang", timeout=MINUTE, attempts=1)(hanging(stage, times=1))
    worker.action("act")(lambda: None)
    editor.add("hang", due=NOON, id="a")
    editor.add("act", due=NOON + SECOND, id="b")
    clock.advance(SECOND)
    report = worker.run(time_left=10 * MINUTE)
    assert (report.failed, report.done, report.stopped_early) == (1, 0, True)
    assert clock.now - NOON <= MINUTE + 5 * SECOND
    # The rule rings for the rest, and the same process has a place for it
    assert report.rings_at
    assert report.rings_at - clock.now <= 2 * MINUTE
    assert worker.run(time_left=10 * MINUTE).done == 1


def test_an_attempt_that_returned_too_late_has_failed_even_if_the_run_did_not_look(
    worker: Worker, rehearsal: Rehearsal
) -> None:
    took = [61, 59]

    @worker.action("slow", timeout=MINUTE)
    def slow() -> None:
        rehearsal.work(took.pop(0) * SECOND)

    rehearsal.editor.add("slow", due=MINUTE, id="a")
    rehearsal.let_time_pass(HOUR)
    task = rehearsal.editor.get("a")
    assert (task.status, task.attempt) == (Status.DONE, 2)
    assert [one.error.partition(":")[0] for one in task.failures if one.error] == ["TimedOut"]


@pytest.fixture
def rehearsal(worker: Worker) -> Rehearsal:
    return Rehearsal(worker)


def test_a_coroutine_is_cancelled(worker: Worker, rehearsal: Rehearsal) -> None:
    ended: list[type[BaseException]] = []

    @worker.action("waits", timeout=timedelta(milliseconds=10), attempts=1)
    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        except BaseException as error:
            ended.append(type(error))
            raise

    @worker.action("raises", timeout=MINUTE, attempts=1)
    async def raises() -> None:
        raise TimeoutError("its own")

    for action in (waits, raises):
        rehearsal.editor.add(action.name, due=MINUTE, id=action.name)
    rehearsal.let_time_pass(HOUR)
    failures = [rehearsal.editor.get(action.name).failure for action in (waits, raises)]
    assert [one and one.type for one in failures] == ["TimedOut", "TimeoutError"]
    assert ended == [asyncio.CancelledError]


@pytest.mark.parametrize("timeout", [60, timedelta(0), -MINUTE])
def test_a_time_out_that_is_none_is_refused(timeout: Any, worker: Worker) -> None:
    with pytest.raises(ValueError, match=r"action 'act': timeout must be a timedelta above 0, not "):
        worker.action("act", timeout=timeout)(lambda: None)


# In a long-running process.


def test_a_process_goes_on_with_the_lane_of_an_action_that_hangs(hosted: Hosted) -> None:
    # Given an action that hangs until after its time-out
    hosted.serve(places=4)
    hosted.worker.action("hang", timeout=MINUTE, attempts=1)(lambda: hosted.stage.sleep(61.5))
    hosted.add("hang", NOON, lane=0)
    hosted.add("act", NOON + 10 * MINUTE, lane=0)
    free: list[bool] = []
    hosted.at(NOON + 5 * MINUTE, lambda: free.append(not hosted.record.owners(hosted.clock.now)))
    assert hosted.run_until(NOON + 20 * MINUTE)
    # Then its lease is not renewed for ever, and what is behind it starts in time
    assert free == [True]
    assert hosted.starts == [NOON + 10 * MINUTE]
    assert hosted.process.health().lost_places == 0


def test_the_line_of_a_time_out_counts_no_action_that_has_time_left(hosted: Hosted) -> None:
    # Given an action without a time-out that goes on after its run has lost its lease, and another that hangs
    hosted.serve(places=4)
    hosted.worker.action("work")(lambda: hosted.stage.sleep(3_600))
    hosted.worker.action("hang", timeout=MINUTE, attempts=1)(lambda: hosted.stage.sleep(61.5))
    hosted.add("work", NOON, lane=0)
    hosted.add("hang", NOON + 10 * MINUTE, lane=1)
    hosted.lose_the_lease(0)
    # When the time-out of the second is over
    hosted.run_until(NOON + 20 * MINUTE)
    # Then its line counts its own place alone
    assert hosted.log.lines("lease_lost")
    [line] = hosted.log.lines("timed_out")
    assert line["lost"] == 1


@pytest.mark.parametrize("loses_lease", [False, True])
def test_a_process_that_has_lost_half_of_its_places_ends_to_be_started_again(
    loses_lease: bool, hosted: Hosted
) -> None:
    # Given two places, an action that never returns in one of them, and what is due later
    hosted.worker.action("hang", timeout=5 * MINUTE)(lambda: hosted.stage.sleep(math.inf))
    hosted.add("hang", NOON, lane=0)
    later = hosted.add("act", NOON + HOUR, lane=1)
    if loses_lease:
        hosted.lose_the_lease(0)
    seen: list[Health] = []
    hosted.at(NOON + 4 * MINUTE, lambda: seen.append(hosted.process.health()))
    # When it runs
    hosted.process.run()
    # Then it ends soon after the time-out, says why, and leaves the rest to others
    assert hosted.process.is_worn_out
    assert hosted.clock.now - NOON <= 5 * MINUTE + 25 * SECOND
    assert seen[0].lost_places == 0
    assert hosted.process.health().lost_places == 1
    [lost] = hosted.log.lines("places_lost")
    assert (lost["lost"], lost["places"]) == (1, 2)
    assert later.lane not in {
        lane for owner in hosted.record.owners(hosted.clock.now) for lane in hosted.record.lanes_of(owner)
    }


# The invocation's time runs out: the run stops in good time, and the rest goes on in the next.


def test_no_task_is_started_when_time_is_short_and_the_rest_goes_on_in_the_next_run(
    editor: Editor, backend: Backend, stage: Stage, clock: Clock
) -> None:
    # Given ten tasks of 40 seconds each, one at a time
    worker = Worker(backend=backend, pool=stage, concurrency=1)
    worker.action("act")(lambda: stage.sleep(40))
    editor.add_many({"action": "act", "due": NOON, "id": f"task-{n}"} for n in range(10))
    # When they are run with 5 minutes
    report = worker.run(time_left=5 * MINUTE)
    # Then none is started in the last 20 seconds, and none is cut off
    assert (report.done, report.attempts, report.stopped_early) == (7, 7, True)
    assert clock.now - NOON == 280 * SECOND
    # And the lanes are given back, and the rule rings at the first minute that is safe
    assert backend.armer.read().lanes_of(report.run) == ()
    assert report.rings_at is not None
    assert MINUTE <= report.rings_at - clock.now < 2 * MINUTE
    # When it rings, the rest is done
    clock.now = report.rings_at
    report = worker.run(time_left=5 * MINUTE)
    assert (report.done, report.stopped_early, report.rings_at) == (3, False, None)


def test_an_action_that_hangs_is_given_up_on_and_retried_later(
    editor: Editor, staged: Worker, backend: Backend, stage: Stage, clock: Clock
) -> None:
    # Given an action that hangs the first time, beside one that does not
    staged.action("hang")(hanging(stage, times=1))
    staged.action("act")(lambda: stage.sleep(5))
    editor.add("hang", due=NOON, id="a")
    editor.add("act", due=NOON, id="b")
    # When they are run with 5 minutes
    report = staged.run(time_left=5 * MINUTE)
    # Then it is a failed attempt, some seconds before the end
    assert (report.done, report.retried, report.stopped_early) == (1, 1, True)
    assert timedelta(0) < NOON + 5 * MINUTE - clock.now <= 15 * SECOND
    task = editor.get("a")
    assert (task.status, task.failure and task.failure.type) == (Status.SCHEDULED, "Unfinished")
    says = "Unfinished: was still running when the worker's time was up: shorten it, or lengthen the time-out"
    assert str(task.failure) == says
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
