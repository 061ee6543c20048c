"""Limits of actions: excess tasks wait in their order, and cost other actions nothing."""

from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from duebell import Backoff, Editor, InvalidTask, Status, Task, Worker
from duebell_shared.backend import Backend
from duebell_shared.errors import InvalidSettings
from duebell_shared.instants import NEVER
from duebell_shared.limits.limits import Permits, Semaphore
from duebell_worker.run.lease import Lease
from tests.support import NOON, Clock
from tests.worker.hooked_store import HookedStore
from tests.worker.log_lines import Log
from tests.worker.memory import memory_backend
from tests.worker.other_runs import die_while_running
from tests.worker.stage import Stage

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


@pytest.fixture
def store() -> HookedStore:
    return HookedStore()


@pytest.fixture
def backend(clock: Clock, store: HookedStore) -> Backend:
    backend = memory_backend(clock, store)
    backend.armer.read()
    store.calls.clear()
    return backend


@pytest.fixture
def starts(clock: Clock) -> list[datetime]:
    return []


def add(editor: Editor, count: int, action: str = "mail") -> None:
    editor.add_many({"action": action, "due": NOON, "id": f"{action}-{n}"} for n in range(count))


def declare(worker: Worker, starts: list[datetime], clock: Clock, **limit: Any) -> None:
    worker.action("mail", **limit)(lambda: starts.append(clock.now))


def declare_slow(
    worker: Worker, stage: Stage, clock: Clock, takes: float, **limit: Any
) -> list[tuple[str, datetime]]:
    """Declare `mail`, whose attempts take these seconds. Returns its starts: task and time."""
    starts: list[tuple[str, datetime]] = []

    @worker.action("mail", **limit)
    def mail(payload: object, task: Task) -> None:
        starts.append((task.id, clock.now))
        stage.sleep(takes)

    return starts


def test_attempts_are_started_at_the_rate_after_a_burst_of_a_second(
    editor: Editor, worker: Worker, clock: Clock, starts: list[datetime]
) -> None:
    declare(worker, starts, clock, per_second=4)
    add(editor, 20)
    report = worker.run(time_left=5 * MINUTE)
    assert starts[:4] == [NOON] * 4
    assert len(starts) == report.done == 20
    gaps = [later - earlier for earlier, later in pairwise(starts[4:])]
    assert gaps == [SECOND / 4] * 15
    # Each was put back once, which uses no attempt up: a claim, a place, a claim and an end
    assert report.limited == 16
    assert {editor.get(f"mail-{n}").attempt for n in range(20)} == {1}
    assert {editor.get(f"mail-{n}").rev for n in range(20)} == {3, 5}


def test_at_most_so_many_are_under_way_at_a_time(
    editor: Editor, backend: Backend, clock: Clock, stage: Stage, store: HookedStore
) -> None:
    under_way, most, other = Counter[str](), Counter[str](), []
    worker = Worker(backend=backend, pool=stage, concurrency=8)

    @worker.action("mail", at_most=3)
    def mail() -> None:
        under_way["mail"] += 1
        most["mail"] = max(most["mail"], under_way["mail"])
        stage.sleep(2)
        under_way["mail"] -= 1

    worker.action("act")(lambda: other.append(clock.now))
    add(editor, 30)
    add(editor, 30, "act")
    report = worker.run(time_left=5 * MINUTE)
    assert report.done == 60
    assert most["mail"] == 3
    # The others were not held up, and all that could be done at a time was
    assert max(other) < NOON + SECOND
    assert clock.now < NOON + 40 * SECOND
    assert not store.records[Semaphore, "mail"].permits


def test_lateness_counts_from_when_the_task_would_have_been_started(
    editor: Editor, worker: Worker, clock: Clock, starts: list[datetime], log: Log
) -> None:
    declare(worker, starts, clock, per_second=1)
    add(editor, 3)
    report = worker.run(time_left=MINUTE)
    assert report.lateness_max_ms == 2000
    assert sorted(editor.get(f"mail-{n}").lateness_ms or 0 for n in range(3)) == [0, 1000, 2000]
    last = [line for line in log.lines("task") if line["outcome"] == "done"][-1]
    assert last["limited_since"].startswith("2026-11-21T12:00:00")


def test_without_limits_nothing_is_read_or_written_for_them(
    editor: Editor, worker: Worker, clock: Clock, starts: list[datetime], store: HookedStore
) -> None:
    declare(worker, starts, clock)
    add(editor, 30)
    worker.run(time_left=MINUTE)
    assert len(starts) == 30
    assert not {verb for verb, _ in store.calls if verb.endswith(("Limits", "Semaphore"))}


def test_several_tasks_take_their_places_at_once(
    editor: Editor, worker: Worker, clock: Clock, starts: list[datetime], store: HookedStore
) -> None:
    declare(worker, starts, clock, per_second=1000)
    add(editor, 100)
    worker.run(time_left=MINUTE)
    assert len(starts) == 100
    assert store.calls["swap Semaphore", 0] <= 100 / 25 + 4


def test_a_paused_action_does_nothing_and_goes_on_at_once_when_it_may(
    editor: Editor, worker: Worker, clock: Clock, starts: list[datetime], store: HookedStore
) -> None:
    declare(worker, starts, clock)
    add(editor, 30)
    assert editor.limit("mail", per_second=0).paused
    worker.run(time_left=MINUTE)
    task = editor.get("mail-0")
    assert (starts, task.status, task.attempt, task.limited_since) == ([], Status.SCHEDULED, 0, NOON)
    assert task.queued
    assert NOON + HOUR < task.queued <= NOON + 25 * HOUR
    # And it costs nothing meanwhile
    assert worker.run(time_left=MINUTE).limited == 0
    # When it goes on
    clock.advance(10 * MINUTE)
    editor.limit("mail", per_second=None)
    assert (editor.status().rings_at or NOON) <= clock.now + 3 * MINUTE
    worker.run(time_left=MINUTE)
    assert len(starts) == 30
    assert editor.get("mail-0").lateness_ms == 600_000


def test_tasks_of_an_action_that_is_resumed_as_a_run_ends_are_rung_for(
    editor: Editor, worker: Worker, clock: Clock, starts: list[datetime], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given tasks of a paused action, which a run has parked
    declare(worker, starts, clock)
    add(editor, 3)
    editor.limit("mail", per_second=0)
    worker.run(time_left=MINUTE)
    clock.advance(10 * MINUTE)
    # When the action is resumed just before another run gives its lanes back
    editor.ensure_armed()
    release, resumed = Lease.release, list[bool]()

    def resume_and_release(lease: Lease, *arguments: Any, **options: Any) -> Any:
        if not resumed:
            resumed.append(True)
            editor.limit("mail", per_second=None)
        return release(lease, *arguments, **options)

    monkeypatch.setattr(Lease, "release", resume_and_release)
    editor.add("other", due=timedelta(0))
    worker.run(time_left=MINUTE)
    # Then they are started by it, or rung for at once
    assert resumed
    assert starts or (editor.status().rings_at or NEVER) <= clock.now + 3 * MINUTE
    worker.run(time_left=MINUTE)
    assert len(starts) == 3


def test_a_semaphore_that_cannot_be_changed_holds_its_tasks_back_and_no_others(
    editor: Editor, worker: Worker, clock: Clock, store: HookedStore, log: Log
) -> None:
    starts: list[datetime] = []
    declare(worker, starts, clock, per_second=10)
    other: list[datetime] = []
    worker.action("act")(lambda: other.append(clock.now))
    add(editor, 5)
    add(editor, 5, "act")

    def refuse(verb: str, _: int) -> bool:
        if is_semaphore := "Semaphore" in verb:
            clock.advance(20 * SECOND)
        return is_semaphore

    store.refuses = refuse
    worker.run()
    assert (starts, other) == ([], [NOON] * 5)
    assert log.lines("not_limited")
    store.refuse(())
    clock.advance(MINUTE)
    worker.run()
    assert len(starts) == 5


def test_a_place_that_is_an_estimate_is_within_minutes(
    editor: Editor, worker: Worker, clock: Clock, starts: list[datetime], store: HookedStore
) -> None:
    # Given another run whose attempts take all permits, and which many tasks wait for
    declare(worker, starts, clock, at_most=1)
    store.swap(None, Semaphore(permits={"other": Permits(1, NOON + 2 * MINUTE)}), "mail")
    add(editor, 1000)
    worker.run(time_left=MINUTE)
    # Then each looks again before they would all have ended
    places = [editor.get(f"mail-{n}").queued or NOON for n in range(1000)]
    assert min(places) > NOON
    assert NOON + 9 * MINUTE < max(places) <= NOON + 10 * MINUTE


def test_a_recurring_task_that_waits_keeps_its_schedule(
    editor: Editor, worker: Worker, clock: Clock, starts: list[datetime]
) -> None:
    declare(worker, starts, clock)
    editor.add("mail", schedule="rate(1 hour)", id="hourly")
    editor.limit("mail", per_second=0)
    clock.now = NOON + HOUR
    worker.run(time_left=MINUTE)
    clock.now = NOON + 3 * HOUR + 10 * MINUTE
    editor.limit("mail", per_second=None)
    worker.run(time_left=MINUTE)
    task = editor.get("hourly")
    assert (len(starts), task.missed_runs, task.due) == (1, 0, NOON + 4 * HOUR)
    assert task.last
    assert (task.last.due, task.last.missed) == (NOON + 3 * HOUR, 2)


def test_a_retry_of_a_recurring_task_is_started_at_once_when_its_paused_action_goes_on(
    editor: Editor, worker: Worker, clock: Clock, starts: list[datetime]
) -> None:
    # Given a retry that comes due while its action is paused, and one more run that is asked for
    @worker.action("mail", attempts=3, backoff=Backoff(first=10 * MINUTE))
    def mail() -> None:
        starts.append(clock.now)
        if len(starts) == 1:
            raise OSError("not now")

    editor.add("mail", schedule="rate(5 hours)", id="r")
    clock.now = NOON + 5 * HOUR
    assert worker.run(time_left=MINUTE).retried == 1
    editor.limit("mail", per_second=0)
    clock.advance(20 * MINUTE)
    assert worker.run(time_left=MINUTE).limited == 1
    assert editor.get("r").due == NOON + 5 * HOUR
    editor.run_now("r")
    clock.advance(20 * MINUTE)
    worker.run(time_left=MINUTE)
    # When the action goes on
    editor.limit("mail", per_second=None)
    worker.run(time_left=MINUTE)
    worker.run(time_left=MINUTE)
    # Then both are started, and the schedule goes on
    assert len(starts) == 3
    task = editor.get("r")
    assert (task.status, task.due) == (Status.SCHEDULED, NOON + 10 * HOUR)


@pytest.mark.parametrize(
    "limit", [{"at_most": 0}, {"per_second": 0}, {"per_second": 2000}, {"at_most": True}]
)
def test_a_declared_limit_that_cannot_be_is_refused(worker: Worker, limit: Any) -> None:
    [field] = limit
    with pytest.raises(InvalidTask, match=field):
        worker.action("mail", **limit)(lambda: None)
    with pytest.raises(InvalidSettings, match=field):
        worker.deliver("mail", "arn:aws:sqs:eu-central-1:123456789012:mails", **limit)


# Tasks that wait are started before their places in the line, as soon as the limit allows.

TASKS = 40


def test_at_most_alone_leaves_no_permit_unused_while_tasks_wait(
    editor: Editor, backend: Backend, clock: Clock, stage: Stage
) -> None:
    worker = Worker(backend=backend, pool=stage, concurrency=8)
    worker.action("mail", at_most=4)(lambda: stage.sleep(2))
    add(editor, TASKS)
    report = worker.run(time_left=HOUR)
    # The run takes no longer than the attempts, four at a time
    assert report.done == TASKS
    assert clock.now == NOON + TASKS / 4 * 2 * SECOND
    assert report.limited <= TASKS * 3
    # And each attempt is told to have begun when it did, not when the run claimed its task
    done = editor.list(status="done").tasks
    assert {task.finished_at - task.started_at for task in done if task.finished_at and task.started_at} == {
        2 * SECOND
    }


@pytest.mark.parametrize("takes", [0.1, 2, 60])
def test_a_rate_is_kept_in_order_however_long_the_attempts_take(
    editor: Editor, backend: Backend, clock: Clock, stage: Stage, takes: float
) -> None:
    # Given more tasks than may start at once, the first two of the same moment
    worker = Worker(backend=backend, pool=stage, concurrency=32)
    starts = declare_slow(worker, stage, clock, takes, per_second=2)
    dues = [NOON - SECOND, *(NOON - SECOND + n * timedelta(milliseconds=1) for n in range(19))]
    editor.add_many(
        {"action": "mail", "due": due, "id": f"mail-{n:02}", "priority": n if n < 2 else None}
        for n, due in enumerate(dues)
    )

    # Then they start as fast as the rate allows, in the order in which they came due, then by priority
    assert worker.run(time_left=5 * MINUTE).limited == 18
    assert [id for id, _ in starts] == ["mail-01", "mail-00", *(f"mail-{n:02}" for n in range(2, 20))]
    assert [at for _, at in starts] == [NOON, *(NOON + n * SECOND / 2 for n in range(19))]


def test_a_raised_rate_is_used_while_attempts_are_under_way(
    editor: Editor, backend: Backend, clock: Clock, stage: Stage
) -> None:
    # Given a line of minutes, and an attempt that takes as long
    worker = Worker(backend=backend, pool=stage, concurrency=32)
    starts = declare_slow(worker, stage, clock, 20, per_second=0.1)

    @worker.action("act")
    def act() -> None:
        stage.sleep(30)
        editor.limit("mail", per_second=5)
        stage.sleep(300)

    editor.add("act", due=NOON)
    add(editor, 10)
    for number in range(10, 30):
        editor.add("mail", due=NOON + timedelta(milliseconds=number), id=f"mail-{number}")
    clock.advance(SECOND)
    worker.run(time_left=10 * MINUTE)

    # Then the others start at the new rate within a minute, in their order
    assert [id for id, _ in starts] == [f"mail-{n}" for n in range(30)]
    assert starts[-1][1] < NOON + MINUTE + 7 * SECOND


def test_tasks_that_wait_are_started_while_the_run_is_busy_with_others(
    editor: Editor, backend: Backend, clock: Clock, stage: Stage
) -> None:
    # Given tasks that wait for the rate, and more others than the run has places for
    worker = Worker(backend=backend, pool=stage, concurrency=4)
    starts = declare_slow(worker, stage, clock, 0, per_second=0.5)
    worker.action("act")(lambda: stage.sleep(1))
    add(editor, 5)
    clock.advance(SECOND)
    editor.add_many({"action": "act", "due": timedelta(0)} for _ in range(100))

    # Then they are started in their order, before the others are done
    assert worker.run(time_left=5 * MINUTE).done == 105
    assert [id for id, _ in starts] == [f"mail-{n}" for n in range(5)]
    assert starts[-1][1] < NOON + 15 * SECOND
    assert clock.now > NOON + 25 * SECOND


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


def test_a_task_that_was_changed_while_it_waited_in_the_run_is_not_started(
    editor: Editor, backend: Backend, clock: Clock, stage: Stage
) -> None:
    # Given two tasks that a run has claimed, and which wait for an attempt that is under way
    worker = Worker(backend=backend, pool=stage, concurrency=8)
    began: list[str] = []
    changed: list[str] = []

    @worker.action("mail", at_most=2)
    def mail(payload: object, task: Task) -> None:
        began.append(task.id)
        if len(began) == 2:
            stage.sleep(MINUTE.total_seconds())
            changed.extend(task.id for task in editor.list(status="running").tasks if task.id not in began)
            editor.cancel(changed[0])
            editor.move(changed[1], due=NOON + 5 * HOUR)
        stage.sleep(MINUTE.total_seconds() * 2)

    # When one is cancelled and the other is moved
    add(editor, 6)
    worker.run(time_left=HOUR)

    # Then neither is started, and the others are
    assert set(began) == {f"mail-{n}" for n in range(6)} - set(changed)
    assert len(changed) == 2
    assert editor.get(changed[0]).status is Status.CANCELLED
    assert editor.get(changed[1]).queued == NOON + 5 * HOUR
    assert clock.now < NOON + 7 * MINUTE


@pytest.mark.parametrize("for_lanes", [False, True], ids=["its time is over", "it leaves for more lanes"])
def test_a_task_that_waits_in_a_run_that_leaves_is_for_the_next_run(
    editor: Editor, backend: Backend, clock: Clock, stage: Stage, for_lanes: bool
) -> None:
    # Given a task that waits in the run for another one, which ends as the run starts nothing more
    worker = Worker(backend=backend, pool=stage, concurrency=8)
    takes = 90 if for_lanes else 50  # a run hears of more lanes when it renews its lease

    @worker.action("mail", at_most=1, attempts=1)
    def mail() -> None:
        if for_lanes:
            backend.armer.change(lambda record: record.relaning("relaner", until=NOON + 2 * MINUTE))
        stage.sleep(takes)

    add(editor, 2)
    report = worker.run(time_left=HOUR if for_lanes else MINUTE)

    # Then it is not started for the last seconds
    assert (report.done, report.failed, clock.now) == (1, 0, NOON + takes * SECOND)
    assert [task.attempt for task in editor.list(status="scheduled").tasks] == [0]

    # And the next run does it
    clock.now = NOON + 2 * MINUTE
    assert worker.run(time_left=2 * MINUTE).done == 1


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
