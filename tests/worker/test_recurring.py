"""Recurring tasks as a run takes them: catching up, retries beside the chain, never beside themselves."""

from datetime import datetime

import pytest

from duebell import Editor, Result, Retry, RunReport, Status, Task, Worker
from duebell_shared.instants import render
from duebell_shared.tasks.recurrence import Missed
from tests.support import NOON, Clock, SetFor
from tests.worker.log_lines import Log
from tests.worker.scene import HOUR, MINUTE, Scene
from tests.worker.stage import Stage


@pytest.mark.parametrize(
    ("policy", "ran", "result", "said"),
    [
        (Missed.ALL, [(hour, 0) for hour in range(1, 6)], Result.DONE, {"next_due": render(NOON + 2 * HOUR)}),
        (Missed.ONCE, [(5, 4)], Result.DONE, {"missed_runs": 4}),
        (Missed.SKIP, [], Result.SKIPPED, {"outcome": "expired"}),
    ],
)
def test_a_run_makes_up_for_what_was_missed(  # noqa: PLR0917
    scene: Scene,
    log: Log,
    policy: Missed,
    ran: list[tuple[int, int]],
    result: Result,
    said: dict[str, object],
) -> None:
    started: list[tuple[datetime, int]] = []
    scene.worker.action("note")(lambda _, task: started.append((task.due, task.missed_runs)))
    scene.editor.add("note", schedule="rate(1 hour)", missed=policy, id="r")
    report = scene.run(at=NOON + 5 * HOUR + 10 * MINUTE)
    assert started == [(NOON + hour * HOUR, missed) for hour, missed in ran]
    assert (report.done, report.expired) == (len(ran), int(not ran))
    assert report.rings_at == scene.editor.get("r").due == NOON + 6 * HOUR
    last = scene.editor.get("r").last
    assert last
    assert (last.result, last.due, last.missed) == (result, NOON + 5 * HOUR, 0 if len(ran) == 5 else 4)
    assert said.items() <= log.lines("task")[0].items()


def test_a_failing_occurrence_neither_delays_nor_cancels_the_next(
    editor: Editor, worker: Worker, clock: Clock
) -> None:
    ran: list[tuple[datetime, int]] = []

    @worker.action("act", attempts=2)
    def act(_: object, task: Task) -> None:
        ran.append((task.due, task.attempt))
        if task.due == NOON + HOUR:
            raise Retry(after=90 * MINUTE)

    editor.add("act", schedule="rate(1 hour)", id="r")
    for _ in range(4):
        queued = editor.get("r").queued
        assert queued
        clock.now = queued
        worker.run()
    first, second = NOON + HOUR, NOON + 2 * HOUR
    assert ran == [(first, 1), (second, 1), (first, 2), (NOON + 3 * HOUR, 1)]
    task = editor.get("r")
    assert [one.result for one in task.occurrences] == [Result.DONE, Result.FAILED, Result.DONE]
    assert (task.runs, task.consecutive_failures) == (3, 0)


def test_an_occurrence_never_starts_while_an_earlier_one_runs(
    editor: Editor, staged: Worker, worker: Worker, stage: Stage, clock: Clock
) -> None:
    at_work: list[datetime] = []
    beside: list[RunReport] = []

    # Given an action that takes two and a half times as long as the interval
    @staged.action("act")
    def act() -> None:
        assert not at_work, "two occurrences at a time"
        at_work.append(clock())
        for _ in range(2):
            stage.sleep(12 * 60)
            # When another run comes by after each of the next dates, as a duplicate ring has it
            beside.append(worker.run())
        stage.sleep(60)
        at_work.clear()

    worker.action("act")(act)
    editor.add("act", schedule="rate(10 minutes)", id="long", max_runs=3)
    clock.advance(10 * MINUTE)
    staged.run()
    while editor.get("long").status is Status.SCHEDULED:
        clock.now = max(clock(), editor.get("long").queued or clock())
        staged.run()

    # Then the other runs started nothing
    assert [report.done + report.failed + report.retried for report in beside] == [0] * 6
    # And each occurrence began when the one before had ended, and stood for those that passed meanwhile
    task = editor.get("long")
    assert [one.missed for one in task.occurrences] == [0, 1, 2]
    assert {one.result for one in task.occurrences} == {Result.DONE}
    assert task.status is Status.DONE


def test_an_extra_run_leaves_the_rule_where_the_chain_needs_it(
    editor: Editor, worker: Worker, clock: Clock
) -> None:
    extra: list[bool] = []
    worker.action("act")(lambda: extra.append(True))
    editor.add("act", schedule="rate(5 hours)", id="r")
    clock.advance(HOUR)
    editor.run_now("r")
    assert worker.run().done == 1
    task = editor.get("r")
    assert (extra, task.due, task.runs) == ([True], NOON + 5 * HOUR, 0)
    assert editor.status().expression == SetFor(NOON + 5 * HOUR)
