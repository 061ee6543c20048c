"""The lease of a run's lanes: held, lost, and given back; what is added meanwhile is not lost."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from duebell import Editor, NotDeployed, Status, Worker
from duebell_infra.testing import InlinePool, MemoryStore
from duebell_shared.backend import Backend
from duebell_shared.bell.arming import GRACE
from duebell_shared.bell.run_rules import LEASE
from duebell_shared.settings import Settings
from duebell_shared.tasks.task import QueueKey
from duebell_worker.run.lease import Lease
from tests.support import NOON, Clock, SetFor
from tests.worker.hooks import Hooks
from tests.worker.memory import in_lane, memory_backend
from tests.worker.stage import Stage

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def expression(events: "EventBridgeClient") -> str:
    return events.describe_rule(Name="duebell")["ScheduleExpression"]


def test_lanes_that_another_run_holds_are_left_alone_and_its_watchdog_is_armed(
    editor: Editor, worker: Worker, backend: Backend, events: "EventBridgeClient"
) -> None:
    # Given a run that has claimed the lanes, and not yet armed its watchdog
    worker.action("act")(lambda: None)
    editor.add("act", due=NOON, id="a")
    Lease.claim(backend.armer, "other", backend.clock)

    # When another run comes
    report = worker.run()

    # Then it does nothing but set the rule to the end of that lease
    assert (report.lanes, report.attempts) == (0, 0)
    assert editor.get("a").status is Status.SCHEDULED
    assert backend.armer.read().lanes_of("other") == (0, 1, 2, 3)
    assert report.rings_at == NOON + LEASE
    assert expression(events) == SetFor(NOON + timedelta(minutes=2))


def test_the_lease_is_renewed_at_half_and_the_rule_follows(
    editor: Editor, staged: Worker, backend: Backend, stage: Stage, events: "EventBridgeClient"
) -> None:
    # Given an action that takes longer than the lease lasts, and looks at the record now and then
    seen: list[tuple[float, str]] = []

    @staged.action("long")
    def long() -> None:
        for _ in range(5):
            lane = backend.armer.read().lanes[0]
            seen.append(((lane.until - NOON).total_seconds(), expression(events)))
            stage.sleep(35)

    editor.add("long", due=NOON, id="a")

    # When it is run
    report = staged.run()

    # Then the lease was prolonged each time that half of it was over, and so was the watchdog
    assert seen == [(60 * n, SetFor(NOON + timedelta(minutes=n))) for n in (2, 2, 3, 3, 4)]
    assert (report.done, report.lost_lease) == (1, False)


def test_a_run_that_lost_its_lease_writes_nothing_more(
    editor: Editor, worker: Worker, backend: Backend, clock: Clock
) -> None:
    # Given an action that takes so long that another run takes over, and is done with the task
    called = []
    other = Worker(backend=backend, pool=lambda _: InlinePool())
    other.action("slow")(lambda: called.append("other"))
    other.action("act")(lambda: called.append("other"))

    @worker.action("slow")
    def slow() -> None:
        called.append("first")
        clock.advance(LEASE)
        assert other.run().done == 1
        editor.add("act", due=NOON, id="b")  # and more comes due

    worker.action("act")(lambda: called.append("first"))
    editor.add("slow", due=NOON, id="a")

    # When the first goes on
    report = worker.run()

    # Then it says so, and has written neither its outcome nor started anything
    assert (report.lost_lease, report.attempts) == (True, 0)
    assert called == ["first", "other"]
    assert (editor.get("a").attempt, editor.get("a").run != report.run) == (2, True)
    assert editor.get("b").status is Status.SCHEDULED
    assert report.rings_at == NOON + LEASE + timedelta(minutes=1)


class StandingStill(InlinePool):
    """A pool of a process that stands still when it is to start something."""

    def __init__(self, stand_still: Callable[[], object]) -> None:
        self._stand_still = stand_still

    def submit(self, call: Callable[..., None], *arguments: Any) -> Future[None]:
        self._stand_still()
        return super().submit(call, *arguments)


@pytest.mark.parametrize("is_claimed", [False, True])
def test_a_run_that_lost_its_lease_before_or_over_a_claim_does_not_call_the_action(
    editor: Editor, backend: Backend, clock: Clock, aws: Hooks, is_claimed: bool
) -> None:
    # Given a process that stands still before its claim, or while that is answered, and another takes over
    def stand_still(**_: object) -> None:
        clock.advance(LEASE)
        Lease.claim(backend.armer, "other", clock)

    if is_claimed:
        aws.after("dynamodb.UpdateItem", stand_still)
    pool = InlinePool() if is_claimed else StandingStill(stand_still)
    called = []
    worker = Worker(backend=backend, pool=lambda _: pool)
    worker.action("act")(lambda: called.append("act"))
    editor.add("act", due=NOON, id="a")
    # When it goes on
    report = worker.run()
    # Then it leaves the task to the other one; an attempt that was claimed counts, for it may have been made
    assert (report.lost_lease, called) == (True, [])
    task = editor.get("a")
    assert (task.status, task.attempt) == ((Status.RUNNING, 1) if is_claimed else (Status.SCHEDULED, 0))


# The end of a run: its lanes are given back, and a rule that is not set is said.


def is_head_query(params: dict[str, Any]) -> bool:
    """Tell whether this call reads a lane's head alone."""
    return bool(json.loads(params["body"])["Limit"] == 1)


@pytest.fixture
def elsewhere(backend: Backend, clock: Clock) -> Editor:
    """An editor in another process; no hook on this one's calls sees its own."""
    return Editor(backend=Backend.connect(Settings(), boto3.Session(), clock=clock, sleep=clock.sleep))


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before-call", "after-call"])
@pytest.mark.parametrize("nth", [1, 4])
@pytest.mark.parametrize("busy", [4, 0], ids=["something-due", "nothing-due"])
def test_what_is_added_while_the_heads_are_read_is_not_lost(
    elsewhere: Editor, backend: Backend, aws: Hooks, *, moment: str, nth: int, busy: int
) -> None:
    # Given an editor that adds a task to each lane just before, or after, the run reads the n-th lane's head:
    # at its end in a lane with something due, as something was added, and in its one look into the others
    elsewhere.ensure_armed()
    for lane in range(busy):
        elsewhere.add("touch", due=NOON, id=in_lane(lane, name="due"))
    heads: list[int] = []

    def add(context: dict[str, Any], params: dict[str, Any] | None = None, **_: Any) -> None:
        if params is not None:
            context["is_head"] = not busy or is_head_query(params)
        if context.get("is_head") and (params is not None) == (moment == "before-call"):
            heads.append(1)
            if len(heads) == nth:
                added.extend(elsewhere.add("act", due=NOON + HOUR, id=f"task-{n}") for n in range(8))

    added: list[Any] = []
    aws.before("dynamodb.Query", add)
    aws.after("dynamodb.Query", add)
    worker = Worker(backend=backend, pool=lambda _: InlinePool())
    worker.action("act")(lambda: None)

    @worker.action("touch")
    def touch() -> None:
        elsewhere.cancel(elsewhere.add("act", due=NOON + 2 * HOUR).id)

    # When the run ends
    report = worker.run()

    # Then the rule is armed for it
    assert len({task.lane for task in added}) == 4
    assert (report.done, report.rings_at) == (busy, NOON + HOUR)
    assert {lane.due for lane in backend.armer.read().lanes} <= {NOON + HOUR}
    assert elsewhere.status().healthy


def test_a_run_to_which_something_was_added_ends_once_that_is_done(clock: Clock) -> None:
    # Given a queue in memory, each look into which takes a moment, and a task that adds one, due at once
    class SlowStore(MemoryStore):
        def queued(self, lane: int, **bounds: Any) -> Iterator[QueueKey]:
            clock.advance(timedelta(milliseconds=100))
            return super().queued(lane, **bounds)

    backend = memory_backend(clock, SlowStore())
    editor = Editor(backend=backend)
    worker = Worker(backend=backend, pool=lambda _: InlinePool())
    worker.action("act")(lambda: None)
    worker.action("add")(lambda: editor.add("act", due=timedelta(0)))
    editor.add("add", due=NOON)
    # When it is run
    report = worker.run(time_left=timedelta(minutes=5))
    # Then the due of that one does not keep the run going, nor the rule ringing
    assert (report.done, report.stopped_early, report.rings_at) == (2, False, None)
    assert clock.now < NOON + timedelta(minutes=1)


def test_a_table_that_is_gone_ends_the_run_and_the_next_one_does_what_is_due(
    editor: Editor, worker: Worker, aws: Hooks, clock: Clock
) -> None:
    worker.action("act")(lambda: None)
    editor.add("act", due=NOON)
    allow = aws.refuse("dynamodb.Query", "ResourceNotFoundException")
    with pytest.raises(NotDeployed):
        worker.run()
    allow()
    clock.advance(GRACE)
    assert worker.run().done == 1


def test_the_record_keeps_what_came_of_the_last_run(editor: Editor, worker: Worker, clock: Clock) -> None:
    worker.action("act")(lambda: None)
    for action in ("act", "act", "no such action"):
        editor.add(action, due=NOON)
    assert editor.status().last_run is None
    clock.advance(timedelta(seconds=5))
    report = worker.run()
    last = editor.status().last_run
    assert last
    assert (last.run, last.finished_at) == (report.run, clock.now)
    assert (last.done, last.failed, last.retried, last.lateness_max_ms) == (2, 1, 0, 5000)


# Runs leave while the queue is given more lanes, with what they have started done.


def test_a_run_that_sees_the_mark_starts_nothing_more_and_gives_its_lanes_back(
    editor: Editor, backend: Backend, clock: Clock
) -> None:
    # Given more to do than a run has places for, and a relaner that comes while the first tasks run
    stage, started = Stage(clock), list[str]()
    worker = Worker(backend=backend, concurrency=2, pool=stage)
    until = NOON + 10 * MINUTE

    @worker.action("act")
    def act(payload: dict[str, str]) -> None:
        started.append(payload["id"])
        if len(started) == 1:
            backend.armer.change(lambda record: record.relaning("relaner", until=until))
        stage.sleep(90)

    for number in range(8):
        editor.add("act", due=NOON, id=f"task-{number}", payload={"id": f"task-{number}"})
    report = worker.run(time_left=timedelta(minutes=15))

    # Then those it had started are done, and the others wait for the next run
    before = len(started)
    assert 2 <= before < 8
    assert (report.done, report.stopped_early) == (before, True)
    assert [lane.owner for lane in backend.armer.read().lanes] == [None] * 4
    assert worker.run(time_left=timedelta(minutes=15)).lanes == 0
    # And once the mark is over, they run
    clock.advance(until - clock.now)
    assert worker.run(time_left=timedelta(minutes=15)).done == 8 - before
    assert all(editor.get(f"task-{number}").status is Status.DONE for number in range(8))
