"""Recurring tasks as a run takes them: catching up, retries beside the chain, never beside themselves."""

from datetime import datetime, timedelta

from duebell import Editor, Result, Retry, RunReport, Status, Task, Worker
from duebell_shared.instants import render
from tests.support import NOON, Clock, SetFor
from tests.worker.log_lines import Log
from tests.worker.stage import Stage

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


def test_a_run_catches_up_with_all_at_once(editor: Editor, worker: Worker, clock: Clock, log: Log) -> None:
    ran: list[datetime] = []
    worker.action("act")(lambda _, task: ran.append(task.due))
    editor.add("act", schedule="rate(1 hour)", missed="all", id="all")
    clock.advance(5 * HOUR + MINUTE)
    report = worker.run()
    assert ran == [NOON + number * HOUR for number in range(1, 6)]
    assert (report.done, report.rings_at) == (5, NOON + 6 * HOUR)
    assert log.lines("task")[0]["next_due"] == render(NOON + 2 * HOUR)


def test_an_action_knows_how_many_it_missed(editor: Editor, worker: Worker, clock: Clock, log: Log) -> None:
    missed: list[int] = []
    worker.action("act")(lambda _, task: missed.append(task.missed_runs))
    editor.add("act", schedule="rate(1 hour)", id="once")
    clock.advance(5 * HOUR + MINUTE)
    assert worker.run().done == 1
    assert (missed, log.lines("task")[0]["missed_runs"]) == ([4], 4)
    task = editor.get("once")
    assert (task.due, task.runs, task.status) == (NOON + 6 * HOUR, 1, Status.SCHEDULED)


def test_what_is_skipped_is_not_run_and_said_to_be_so(
    editor: Editor, worker: Worker, clock: Clock, log: Log
) -> None:
    worker.action("act")(lambda: None)
    editor.add("act", schedule="rate(1 hour)", missed="skip", id="skip")
    clock.advance(5 * HOUR + 10 * MINUTE)
    report = worker.run()
    assert (report.done, report.expired) == (0, 1)
    assert log.lines("task")[0]["outcome"] == "expired"
    last = editor.get("skip").last
    assert last
    assert (last.result, last.due, last.missed) == (Result.SKIPPED, NOON + 5 * HOUR, 4)


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
