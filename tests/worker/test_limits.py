"""Limits and closed hours of actions: excess tasks wait in their order, and cost other actions nothing."""

from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from duebell import Backoff, Editor, InvalidTask, RunReport, Status, Task, Worker
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

#: When `mail` opens that is closed from 12 to 13 o'clock.
OPENS, CLOSED = NOON + HOUR, "12:00-13:00"

QUEUE = "arn:aws:sqs:eu-central-1:123456789012:mails"


class Scene:
    """A queue in memory, and a worker whose actions may take time.

    started, starts  the tasks that the action `mail` was called with, and when
    """

    def __init__(self, clock: Clock, stage: Stage) -> None:
        self.clock, self.stage, self.store = clock, stage, HookedStore()
        self.backend = memory_backend(clock, self.store)
        self.backend.armer.read()
        self.store.calls.clear()
        self.editor = Editor(backend=self.backend)
        self.started: list[Task] = []
        self.starts: list[datetime] = []
        self.serve(places=32)

    def serve(self, *, places: int) -> None:
        """Have a worker with so many places."""
        self.worker = Worker(backend=self.backend, pool=self.stage, concurrency=places)

    def declare(self, *, takes: float = 0, **limit: Any) -> None:
        """Declare `mail`, whose attempts take these seconds."""

        @self.worker.action("mail", **limit)
        def mail(_: object, task: Task) -> None:
            self.started.append(task)
            self.starts.append(self.clock.now)
            if takes:
                self.stage.sleep(takes)

    def add(self, count: int, action: str = "mail", due: datetime = NOON) -> None:
        self.editor.add_many({"action": action, "due": due, "id": f"{action}-{n}"} for n in range(count))

    def run(self, time_left: timedelta | None = MINUTE) -> RunReport:
        return self.worker.run(time_left=time_left)

    @property
    def ids(self) -> list[str]:
        return [task.id for task in self.started]


@pytest.fixture
def scene(clock: Clock, stage: Stage) -> Scene:
    return Scene(clock, stage)


def mails(count: int) -> list[str]:
    return [f"mail-{number}" for number in range(count)]


def test_attempts_are_started_at_the_rate_after_a_burst_of_a_second(scene: Scene) -> None:
    scene.declare(per_second=4)
    scene.add(20)
    report = scene.run(5 * MINUTE)
    assert scene.starts[:4] == [NOON] * 4
    assert len(scene.starts) == report.done == 20
    gaps = [later - earlier for earlier, later in pairwise(scene.starts[4:])]
    assert gaps == [SECOND / 4] * 15
    # Each was put back once, which uses no attempt up: a claim, a place, a claim and an end
    assert report.limited == 16
    tasks = [scene.editor.get(id) for id in mails(20)]
    assert ({task.attempt for task in tasks}, {task.rev for task in tasks}) == ({1}, {3, 5})


def test_at_most_so_many_are_under_way_at_a_time(scene: Scene) -> None:
    under_way, most, other = Counter[str](), Counter[str](), []

    @scene.worker.action("mail", at_most=3)
    def mail() -> None:
        under_way["mail"] += 1
        most["mail"] = max(most["mail"], under_way["mail"])
        scene.stage.sleep(2)
        under_way["mail"] -= 1

    scene.worker.action("act")(lambda: other.append(scene.clock.now))
    scene.add(30)
    scene.add(30, "act")
    assert scene.run(5 * MINUTE).done == 60
    assert most["mail"] == 3
    # The others were not held up, and all that could be done at a time was
    assert max(other) < NOON + SECOND
    assert scene.clock.now < NOON + 40 * SECOND
    assert not scene.store.records[Semaphore, "mail"].permits


def test_lateness_counts_from_when_the_task_would_have_been_started(scene: Scene, log: Log) -> None:
    scene.declare(per_second=1)
    scene.add(3)
    assert scene.run().lateness_max_ms == 2000
    assert sorted(scene.editor.get(id).lateness_ms or 0 for id in mails(3)) == [0, 1000, 2000]
    last = [line for line in log.lines("task") if line["outcome"] == "done"][-1]
    assert last["limited_since"].startswith("2026-11-21T12:00:00")


def test_without_limits_nothing_is_read_or_written_for_them(scene: Scene) -> None:
    scene.declare()
    scene.add(30)
    assert scene.run().done == 30
    assert not {verb for verb, _ in scene.store.calls if verb.endswith(("Limits", "Semaphore"))}


def test_several_tasks_take_their_places_at_once(scene: Scene) -> None:
    scene.declare(per_second=1000)
    scene.add(100)
    assert scene.run().done == 100
    assert scene.store.calls["swap Semaphore", 0] <= 100 / 25 + 4


def test_a_paused_action_does_nothing_and_goes_on_at_once_when_it_may(scene: Scene) -> None:
    scene.declare()
    scene.add(30)
    assert scene.editor.limit("mail", per_second=0).paused
    scene.run()
    task = scene.editor.get("mail-0")
    assert (scene.starts, task.status, task.attempt, task.limited_since) == ([], Status.SCHEDULED, 0, NOON)
    assert task.queued
    assert NOON + HOUR < task.queued <= NOON + 25 * HOUR
    # And it costs nothing meanwhile
    assert scene.run().limited == 0
    # When it goes on
    scene.clock.advance(10 * MINUTE)
    scene.editor.limit("mail", per_second=None)
    assert (scene.editor.status().rings_at or NOON) <= scene.clock.now + 3 * MINUTE
    assert scene.run().done == 30
    assert scene.editor.get("mail-0").lateness_ms == 600_000


def test_tasks_of_an_action_that_is_resumed_as_a_run_ends_are_rung_for(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given tasks of a paused action, which a run has parked
    scene.declare()
    scene.add(3)
    scene.editor.limit("mail", per_second=0)
    scene.run()
    scene.clock.advance(10 * MINUTE)
    # When the action is resumed just before another run gives its lanes back
    scene.editor.ensure_armed()
    release, resumed = Lease.release, list[bool]()

    def resume_and_release(lease: Lease, *arguments: Any, **options: Any) -> Any:
        if not resumed:
            resumed.append(True)
            scene.editor.limit("mail", per_second=None)
        return release(lease, *arguments, **options)

    monkeypatch.setattr(Lease, "release", resume_and_release)
    scene.editor.add("other", due=timedelta(0))
    scene.run()
    # Then they are started by it, or rung for at once
    assert resumed
    assert scene.starts or (scene.editor.status().rings_at or NEVER) <= scene.clock.now + 3 * MINUTE
    scene.run()
    assert len(scene.starts) == 3


def test_a_semaphore_that_cannot_be_changed_holds_back_its_tasks_only(scene: Scene, log: Log) -> None:
    other: list[datetime] = []
    scene.declare(per_second=10)
    scene.worker.action("act")(lambda: other.append(scene.clock.now))
    scene.add(5)
    scene.add(5, "act")

    def refuse(verb: str, _: int) -> bool:
        if is_semaphore := "Semaphore" in verb:
            scene.clock.advance(20 * SECOND)
        return is_semaphore

    scene.store.refuses = refuse
    scene.run(None)
    assert (scene.starts, other) == ([], [NOON] * 5)
    assert log.lines("not_limited")
    scene.store.refuse(())
    scene.clock.advance(MINUTE)
    assert scene.run(None).done == 5


def test_permits_that_could_not_be_renewed_are_renewed_at_the_next_read(scene: Scene) -> None:
    # Given an attempt that lasts, and a semaphore that cannot be changed when the lease is renewed
    renewed: list[datetime] = []

    def refuse(verb: str, _: int) -> bool:
        if is_renewal := verb == "swap Semaphore" and scene.clock.now > NOON:
            renewed.append(scene.clock.now)
        return is_renewal and len(renewed) == 1

    scene.store.refuses = refuse
    scene.declare(at_most=1, takes=240)
    scene.add(1)
    scene.run(HOUR)
    # Then the run does not wait for the next renewal of the lease
    assert renewed[:3] == [NOON + MINUTE, NOON + MINUTE, NOON + 2 * MINUTE]


def test_a_place_that_is_an_estimate_is_within_minutes(scene: Scene) -> None:
    # Given another run whose attempts take all permits, and which many tasks wait for
    scene.declare(at_most=1)
    scene.store.swap(None, Semaphore(permits={"other": Permits(1, NOON + 2 * MINUTE)}), "mail")
    scene.add(1000)
    scene.run()
    # Then each looks again before they would all have ended
    places = [scene.editor.get(id).queued or NOON for id in mails(1000)]
    assert min(places) > NOON
    assert NOON + 9 * MINUTE < max(places) <= NOON + 10 * MINUTE


def test_a_recurring_task_that_waits_keeps_its_schedule(scene: Scene) -> None:
    scene.declare()
    scene.editor.add("mail", schedule="rate(1 hour)", id="hourly")
    scene.editor.limit("mail", per_second=0)
    scene.clock.now = NOON + HOUR
    scene.run()
    scene.clock.now = NOON + 3 * HOUR + 10 * MINUTE
    scene.editor.limit("mail", per_second=None)
    scene.run()
    task = scene.editor.get("hourly")
    assert (len(scene.starts), task.missed_runs, task.due) == (1, 0, NOON + 4 * HOUR)
    assert task.last
    assert (task.last.due, task.last.missed) == (NOON + 3 * HOUR, 2)


def test_a_retry_of_a_recurring_task_is_started_at_once_when_its_paused_action_goes_on(scene: Scene) -> None:
    # Given a retry that comes due while its action is paused, and one more run that is asked for
    @scene.worker.action("mail", attempts=3, backoff=Backoff(first=10 * MINUTE))
    def mail() -> None:
        scene.starts.append(scene.clock.now)
        if len(scene.starts) == 1:
            raise OSError("not now")

    scene.editor.add("mail", schedule="rate(5 hours)", id="r")
    scene.clock.now = NOON + 5 * HOUR
    assert scene.run().retried == 1
    scene.editor.limit("mail", per_second=0)
    scene.clock.advance(20 * MINUTE)
    assert scene.run().limited == 1
    assert scene.editor.get("r").due == NOON + 5 * HOUR
    scene.editor.run_now("r")
    scene.clock.advance(20 * MINUTE)
    scene.run()
    # When the action goes on
    scene.editor.limit("mail", per_second=None)
    scene.run()
    scene.run()
    # Then both are started, and the schedule goes on
    assert len(scene.starts) == 3
    task = scene.editor.get("r")
    assert (task.status, task.due) == (Status.SCHEDULED, NOON + 10 * HOUR)


@pytest.mark.parametrize(
    "limit", [{"at_most": 0}, {"per_second": 0}, {"per_second": 2000}, {"at_most": True}]
)
def test_a_declared_limit_that_cannot_be_is_refused(worker: Worker, limit: Any) -> None:
    [field] = limit
    with pytest.raises(InvalidTask, match=field):
        worker.action("mail", **limit)(lambda: None)
    with pytest.raises(InvalidSettings, match=field):
        worker.deliver("mail", QUEUE, **limit)


# Tasks that wait are started before their places in the line, as soon as the limit allows.


def test_at_most_alone_leaves_no_permit_unused_while_tasks_wait(scene: Scene) -> None:
    scene.declare(takes=2, at_most=4)
    scene.add(40)
    report = scene.run(HOUR)
    # The run takes no longer than the attempts, four at a time
    assert (report.done, scene.clock.now) == (40, NOON + 40 / 4 * 2 * SECOND)
    assert report.limited <= 40 * 3
    # And each attempt is told to have begun when it did, not when the run claimed its task
    done = scene.editor.list(status="done").tasks
    assert {task.finished_at - task.started_at for task in done if task.finished_at and task.started_at} == {
        2 * SECOND
    }


@pytest.mark.parametrize("takes", [0.1, 2, 60])
def test_a_rate_is_kept_in_order_however_long_the_attempts_take(scene: Scene, takes: float) -> None:
    # Given more tasks than may start at once, the first two of the same moment
    scene.declare(takes=takes, per_second=2)
    scene.editor.add_many(
        {
            "action": "mail",
            "due": NOON + max(n - 1, 0) * timedelta(milliseconds=1),
            "id": f"mail-{n}",
            "priority": n if n < 2 else None,
        }
        for n in range(20)
    )
    scene.clock.now = begins = NOON + SECOND

    # Then they start as fast as the rate allows, in the order in which they came due, then by priority
    assert scene.run(5 * MINUTE).limited == 18
    assert scene.ids == ["mail-1", "mail-0", *mails(20)[2:]]
    assert scene.starts == [begins, *(begins + n * SECOND / 2 for n in range(19))]


def test_a_raised_rate_is_used_while_attempts_are_under_way(scene: Scene) -> None:
    # Given a line of minutes, and an attempt that takes as long
    scene.declare(takes=20, per_second=0.1)

    @scene.worker.action("act")
    def act() -> None:
        scene.stage.sleep(30)
        scene.editor.limit("mail", per_second=5)
        scene.stage.sleep(300)

    scene.editor.add("act", due=NOON)
    for number, id in enumerate(mails(30)):
        scene.editor.add("mail", due=NOON + timedelta(milliseconds=number), id=id)
    scene.clock.advance(SECOND)
    scene.run(10 * MINUTE)

    # Then the others start at the new rate within a minute, in their order
    assert scene.ids == mails(30)
    assert scene.starts[-1] < NOON + MINUTE + 7 * SECOND


def test_tasks_that_wait_are_started_while_the_run_is_busy_with_others(scene: Scene) -> None:
    # Given tasks that wait for the rate, and more others than the run has places for
    scene.serve(places=4)
    scene.declare(per_second=0.5)
    scene.worker.action("act")(lambda: scene.stage.sleep(1))
    scene.add(5)
    scene.clock.advance(SECOND)
    scene.add(100, "act", due=scene.clock.now)

    # Then they are started in their order, before the others are done
    assert scene.run(5 * MINUTE).done == 105
    assert scene.ids == mails(5)
    assert scene.starts[-1] < NOON + 15 * SECOND
    assert scene.clock.now > NOON + 25 * SECOND


def test_a_raised_rate_holds_for_what_earlier_runs_have_put_back(scene: Scene) -> None:
    # Given a line of 6 hours, too long for the run to stay
    scene.declare(per_second=1 / 300)
    scene.add(150)
    scene.run(5 * MINUTE)
    [first] = scene.ids
    line = sorted((scene.editor.get(id).queued or NOON, id) for id in mails(150) if id != first)
    assert line[-1][0] > NOON + 10 * HOUR
    # When the rate is raised
    scene.clock.advance(MINUTE)
    scene.editor.limit("mail", per_second=10)
    rings_at = scene.editor.status().rings_at
    assert rings_at
    assert rings_at <= scene.clock.now + 3 * MINUTE
    scene.clock.now = rings_at
    report = scene.run(5 * MINUTE)
    # Then the next run starts all of them at it, in their order, and puts none back again
    assert report.done == 149
    assert report.limited <= 2
    assert scene.clock.now <= rings_at + 20 * SECOND
    assert scene.ids[1:] == [id for _, id in line]
    assert scene.editor.status().rings_at is None


def test_a_task_that_was_changed_while_it_waited_is_left_as_it_is(scene: Scene, log: Log) -> None:
    began: list[str] = []

    @scene.worker.action("mail", at_most=1)
    def mail(payload: object, task: Task) -> None:
        began.append(task.id)
        if len(began) == 1:
            scene.stage.sleep(1)
            scene.editor.cancel("mail-3")
            scene.editor.move("mail-4", due=NOON + 5 * HOUR)

    scene.add(8)
    scene.run(HOUR)
    assert sorted(began) == [f"mail-{n}" for n in (0, 1, 2, 5, 6, 7)]
    assert scene.editor.get("mail-3").status is Status.CANCELLED
    moved = scene.editor.get("mail-4")
    assert (moved.queued, moved.attempt) == (NOON + 5 * HOUR, 0)
    assert not log.lines("passed_over")


def test_a_task_that_was_changed_while_it_waited_in_the_run_is_not_started(scene: Scene) -> None:
    # Given two tasks that a run has claimed, and which wait for an attempt that is under way
    began: list[str] = []
    changed: list[str] = []

    @scene.worker.action("mail", at_most=2)
    def mail(payload: object, task: Task) -> None:
        began.append(task.id)
        if len(began) == 2:
            scene.stage.sleep(60)
            running = scene.editor.list(status="running").tasks
            changed.extend(task.id for task in running if task.id not in began)
            scene.editor.cancel(changed[0])
            scene.editor.move(changed[1], due=NOON + 5 * HOUR)
        scene.stage.sleep(120)

    # When one is cancelled and the other is moved
    scene.add(6)
    scene.run(HOUR)

    # Then neither is started, and the others are
    assert set(began) == set(mails(6)) - set(changed)
    assert len(changed) == 2
    assert scene.editor.get(changed[0]).status is Status.CANCELLED
    assert scene.editor.get(changed[1]).queued == NOON + 5 * HOUR
    assert scene.clock.now < NOON + 7 * MINUTE


@pytest.mark.parametrize("for_lanes", [False, True], ids=["its time is over", "it leaves for more lanes"])
def test_a_task_that_waits_in_a_run_that_leaves_is_for_the_next_run(scene: Scene, for_lanes: bool) -> None:
    # Given a task that waits in the run for another one, which ends as the run starts nothing more
    takes = 90 if for_lanes else 50  # a run hears of more lanes when it renews its lease

    @scene.worker.action("mail", at_most=1, attempts=1)
    def mail() -> None:
        if for_lanes:
            scene.backend.armer.change(lambda record: record.relaning("relaner", until=NOON + 2 * MINUTE))
        scene.stage.sleep(takes)

    scene.add(2)
    report = scene.run(HOUR if for_lanes else MINUTE)

    # Then it is not started for the last seconds
    assert (report.done, report.failed, scene.clock.now) == (1, 0, NOON + takes * SECOND)
    assert [task.attempt for task in scene.editor.list(status="scheduled").tasks] == [0]

    # And the next run does it
    scene.clock.now = NOON + 2 * MINUTE
    assert scene.run(2 * MINUTE).done == 1


def test_a_task_that_a_run_began_before_its_place_is_tried_again_when_that_run_has_died(scene: Scene) -> None:
    # Given a place an hour ahead, and a run that began the task before it and died
    scene.declare(per_second=1 / 3600)
    scene.add(2)
    scene.run(SECOND)
    [waiting] = set(mails(2)) - set(scene.ids)
    scene.editor.limit("mail", per_second=100)
    die_while_running(scene.backend, scene.clock, waiting)
    # Then it does not wait for its place
    scene.run()
    assert len(scene.starts) == 2
    assert scene.editor.get(waiting).attempt == 2


# Closed hours: nothing starts in them, and what waits starts when they are over.


def test_tasks_wait_for_the_opening_and_the_rule_rings_for_it(scene: Scene) -> None:
    scene.declare(closed=CLOSED)
    scene.worker.action("act")(lambda: None)
    scene.add(3)
    scene.add(1, "act")
    report = scene.run(None)
    # Then only others are started, and the rule rings in the minute of the opening
    assert (report.done, report.limited, scene.started) == (1, 3, [])
    assert report.rings_at == OPENS
    task = scene.editor.get("mail-0")
    assert (task.status, task.attempt, task.limited_since) == (Status.SCHEDULED, 0, NOON)
    assert task.queued
    assert OPENS - SECOND <= task.queued < OPENS
    # When it has opened
    scene.clock.now = OPENS
    assert scene.run(None).done == 3
    assert {one.limited_since for one in scene.started} == {NOON}
    # And no semaphore was read or written: nothing is counted
    assert not scene.store.calls["read Semaphore", 0]


@pytest.mark.parametrize("limit", [{}, {"per_second": 0.5}])
def test_a_run_that_stays_starts_them_at_the_opening_and_not_before_and_at_the_rate(
    scene: Scene, limit: dict[str, float]
) -> None:
    scene.declare(closed=CLOSED, **limit)
    scene.add(4)
    for scene.clock.now in (NOON, OPENS - 2 * SECOND):
        scene.run()
    assert scene.starts == [OPENS + n * (2 if limit else 0) * SECOND for n in range(4)]
    # A claim, a place, a second place in the last second before the opening, an attempt
    assert scene.editor.get(scene.ids[0]).rev == 7


@pytest.mark.parametrize(
    ("hours", "opens"),
    [("never", NOON + MINUTE), ("12:00-12:30", NOON + 30 * MINUTE), ("sat,sun", NOON + 36 * HOUR)],
)
def test_tasks_that_wait_follow_when_the_hours_are_changed(scene: Scene, hours: str, opens: datetime) -> None:
    # Given more waiting tasks than a run would find among others
    scene.declare(closed=CLOSED)
    scene.add(150)
    scene.worker.register()
    scene.run(None)
    scene.clock.advance(MINUTE)
    scene.editor.limit("mail", closed=hours)
    while scene.clock.now < opens:
        report = scene.run(None)
        assert not scene.started
        assert report.rings_at
        scene.clock.now = report.rings_at
    scene.run(None)
    assert (scene.clock.now, len(scene.started)) == (opens, 150)


def test_a_pause_ends_no_closed_hours_and_these_no_pause(scene: Scene) -> None:
    scene.declare(closed=CLOSED)
    scene.add(1)
    scene.run(None)
    scene.editor.limit("mail", at_most=0)
    scene.clock.now = OPENS
    scene.run(None)
    assert not scene.started
    scene.clock.now = NOON + 23.5 * HOUR
    scene.editor.limit("mail", at_most=None)
    scene.run(None)
    assert len(scene.started) == 1
    # And in closed hours
    scene.editor.add("mail", due=scene.clock.now)
    scene.editor.limit("mail", at_most=0)
    scene.run(None)
    scene.clock.now = NOON + 24.5 * HOUR
    scene.editor.limit("mail", at_most=None)
    assert scene.run(None).rings_at == OPENS + 24 * HOUR
    assert len(scene.started) == 1


def test_a_delivery_is_not_sent_in_its_closed_hours(scene: Scene) -> None:
    scene.worker.deliver("mail", to=QUEUE, closed=CLOSED)
    scene.add(1)
    scene.run()
    task = scene.editor.get("mail-0")
    assert task.status is Status.SCHEDULED
    assert task.queued
    assert OPENS - SECOND < task.queued <= OPENS  # each action has its own instant of that second
    with pytest.raises(InvalidSettings, match="never opens"):
        scene.worker.deliver("always", to=QUEUE, closed="mon-sun")
