"""Tasks that wait for limits are started before their places in the line, as soon as the limit allows."""

from datetime import datetime, timedelta

import pytest

from duebell import Editor, Status, Task, Worker
from duebell_shared.backend import Backend
from tests.support import NOON, Clock
from tests.worker.dead import die_while_running
from tests.worker.log_lines import Log
from tests.worker.stage import Stage

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)

TASKS = 40


@pytest.fixture
def starts() -> list[datetime]:
    return []


def add(editor: Editor, count: int = TASKS) -> None:
    editor.add_many({"action": "mail", "due": NOON, "id": f"mail-{n}"} for n in range(count))


@pytest.mark.parametrize("takes", [0.25, 2, 60])
def test_at_most_alone_leaves_no_permit_unused_however_long_attempts_take(
    takes: float, editor: Editor, backend: Backend, clock: Clock, stage: Stage
) -> None:
    worker = Worker(backend=backend, pool=stage, concurrency=8)
    worker.action("mail", at_most=4)(lambda: stage.sleep(takes))
    add(editor)
    report = worker.run(time_left=HOUR)
    # The run takes no longer than the attempts, four at a time
    assert report.done == TASKS
    assert clock.now == NOON + TASKS / 4 * timedelta(seconds=takes)
    assert report.limited <= TASKS * 3


def test_a_run_that_is_under_way_follows_a_raised_rate_with_what_it_has_put_back(
    editor: Editor, worker: Worker, clock: Clock, starts: list[datetime]
) -> None:
    @worker.action("mail", per_second=0.1)
    def mail() -> None:
        starts.append(clock.now)
        if len(starts) == 3:
            editor.limit("mail", per_second=5)

    add(editor)
    report = worker.run(time_left=HOUR)
    assert report.done == TASKS
    assert starts[2] == NOON + 20 * SECOND
    # It looks every five seconds, and 37 starts take 7.4
    assert starts[-1] <= NOON + 33 * SECOND
    # Each was put back once, and one of them again, at the new rate
    assert report.limited == TASKS


def test_a_raised_rate_holds_for_what_earlier_runs_have_put_back(
    editor: Editor, worker: Worker, clock: Clock, starts: list[datetime]
) -> None:
    # Given a line of 6 hours, too long for the run to stay
    ran: list[str] = []

    @worker.action("mail", per_second=1 / 300)
    def mail(payload: object, task: Task) -> None:
        ran.append(task.id)

    add(editor, 150)
    worker.run(time_left=5 * MINUTE)
    assert len(ran) == 1
    line = sorted((editor.get(f"mail-{n}").queued or NOON, f"mail-{n}") for n in range(150))
    waiting = [name for queued, name in line if queued > NOON]
    assert max(line)[0] > NOON + 10 * HOUR
    # When the rate is raised
    clock.advance(MINUTE)
    editor.limit("mail", per_second=10)
    rings_at = editor.status().rings_at
    assert rings_at
    assert rings_at <= clock.now + 3 * MINUTE
    clock.now = rings_at
    report = worker.run(time_left=5 * MINUTE)
    # Then the next run starts all of them at it, in their order, and puts none back again
    assert report.done == 149
    assert report.limited <= 2
    assert clock.now <= rings_at + 20 * SECOND
    assert [name for name in ran if name in waiting] == waiting
    assert editor.status().rings_at is None


def test_tasks_of_others_between_them_are_left_alone(
    editor: Editor, worker: Worker, clock: Clock, starts: list[datetime]
) -> None:
    worker.action("mail", per_second=1 / 300)(lambda: starts.append(clock.now))
    worker.action("other")(lambda: None)
    add(editor, 4)
    for minute in range(1, 15):
        editor.add("other", due=NOON + minute * MINUTE, id=f"other-{minute}")
    # One of the same action that is due then by itself
    editor.add("mail", due=NOON + 9 * MINUTE, id="of-itself")
    worker.run(time_left=SECOND)
    editor.limit("mail", per_second=100)
    worker.run(time_left=5 * SECOND)
    assert len(starts) == 4
    for name in ("of-itself", *(f"other-{minute}" for minute in range(2, 15))):
        task = editor.get(name)
        assert (task.attempt, task.status) == (0, Status.SCHEDULED)


def test_a_limit_that_is_taken_away_lets_all_go(
    editor: Editor, worker: Worker, clock: Clock, starts: list[datetime]
) -> None:
    worker.action("mail")(lambda: starts.append(clock.now))
    add(editor)
    editor.limit("mail", per_second=0.001)
    worker.run(time_left=SECOND)
    editor.limit("mail", per_second=None)
    worker.run(time_left=SECOND)
    assert len(starts) == TASKS
    assert starts[-1] <= NOON + SECOND


def test_a_task_that_was_changed_while_it_waited_is_left_as_it_is(
    editor: Editor, backend: Backend, clock: Clock, stage: Stage, log: Log
) -> None:
    worker = Worker(backend=backend, pool=stage, concurrency=8)
    began: list[str] = []

    @worker.action("mail", at_most=1)
    def mail(payload: object, task: Task) -> None:
        began.append(task.id)
        if len(began) == 1:
            stage.sleep(1)
            editor.cancel("mail-3")
            editor.move("mail-4", due=NOON + 5 * HOUR)

    add(editor, 8)
    worker.run(time_left=HOUR)
    assert sorted(began) == [f"mail-{n}" for n in (0, 1, 2, 5, 6, 7)]
    assert editor.get("mail-3").status is Status.CANCELLED
    assert editor.get("mail-4").queued == NOON + 5 * HOUR
    assert editor.get("mail-4").attempt == 0
    assert not log.lines("passed_over")


def test_a_task_that_a_run_began_before_its_place_is_tried_again_when_that_run_has_died(
    editor: Editor, backend: Backend, worker: Worker, clock: Clock, starts: list[datetime]
) -> None:
    # Given a place an hour ahead, and a run that began the task before it and died
    worker.action("mail", per_second=1 / 3600)(lambda: starts.append(clock.now))
    add(editor, 2)
    worker.run(time_left=SECOND)
    [waiting] = [n for n in range(2) if editor.get(f"mail-{n}").status is Status.SCHEDULED]
    editor.limit("mail", per_second=100)
    die_while_running(backend, clock, f"mail-{waiting}")
    # Then it does not wait for its place
    worker.run(time_left=MINUTE)
    assert len(starts) == 2
    assert editor.get(f"mail-{waiting}").attempt == 2


def test_a_last_attempt_at_a_task_of_a_resumed_action_is_told_as_soon_as_its_run_has_died(
    editor: Editor, backend: Backend, worker: Worker, clock: Clock, starts: list[datetime]
) -> None:
    worker.action("mail", attempts=1)(lambda: starts.append(clock.now))
    add(editor, 1)
    editor.limit("mail", at_most=0)
    worker.run(time_left=SECOND)
    assert editor.get("mail-0").limited_since == NOON
    editor.limit("mail", at_most=None)
    die_while_running(backend, clock, "mail-0", last=1)
    worker.run(time_left=MINUTE)
    assert editor.get("mail-0").status is Status.FAILED


def test_a_run_reads_ahead_only_while_there_is_a_line_from_before_a_change(
    editor: Editor, worker: Worker, clock: Clock, backend: Backend, starts: list[datetime]
) -> None:
    worker.action("mail", per_second=1)(lambda: starts.append(clock.now))
    editor.limit("mail", per_second=2)
    add(editor)
    worker.run(time_left=HOUR)
    limits = backend.store.read_limits()
    assert limits
    assert not limits.lines(NOON)
    assert starts[-1] == NOON + (TASKS - 2) / 2 * SECOND
