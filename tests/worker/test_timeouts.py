"""The time-out of an action: its attempt ends then, holds up nobody, and nothing that comes later counts."""

import asyncio
import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from duebell import Editor, Status, Worker
from duebell.testing import Rehearsal
from duebell_shared.backend import Backend
from duebell_worker.process import Health
from tests.support import NOON, Clock
from tests.worker.hosted import HOUR, MINUTE, SECOND, Hosted
from tests.worker.stage import Stage


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


def test_a_task_whose_last_attempt_times_out_has_failed_and_is_followed_up(
    editor: Editor, staged: Worker, stage: Stage
) -> None:
    staged.action("hang", timeout=MINUTE, attempts=1, on_failed="tell")(hanging(stage, times=1))
    editor.add("hang", due=NOON, id="a")
    staged.run(time_left=10 * MINUTE)
    failed = editor.get("a")
    assert (failed.status, failed.failure and failed.failure.type) == (Status.FAILED, "TimedOut")
    assert editor.get("a/failed").action == "tell"


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


def lose_the_lease(hosted: Hosted) -> None:
    """Have another run claim lane 0 soon, when the lease of the first is over."""

    def claim() -> None:
        hosted.clock.advance(3 * MINUTE)
        hosted.other(0)

    hosted.at(NOON + 10 * SECOND, claim)


def test_the_line_of_a_time_out_counts_no_action_that_has_time_left(hosted: Hosted) -> None:
    # Given an action without a time-out that goes on after its run has lost its lease, and another that hangs
    hosted.serve(places=4)
    hosted.worker.action("work")(lambda: hosted.stage.sleep(3_600))
    hosted.worker.action("hang", timeout=MINUTE, attempts=1)(lambda: hosted.stage.sleep(61.5))
    hosted.add("work", NOON, lane=0)
    hosted.add("hang", NOON + 10 * MINUTE, lane=1)
    lose_the_lease(hosted)
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
        lose_the_lease(hosted)
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
