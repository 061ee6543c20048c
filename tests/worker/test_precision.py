"""Precision "second": the rule rings before the due date, and the run waits for it."""

from datetime import datetime, timedelta

import boto3
import pytest

from duebell import Editor, Worker
from duebell_infra.testing import InlinePool
from duebell_shared.backend import Backend
from duebell_shared.bell.arming import HEAD_START
from duebell_shared.bell.expression import LEAD
from duebell_shared.settings import Precision, Settings
from tests.support import NOON, Calls, Clock
from tests.worker.hooks import Hooks
from tests.worker.stage import Stage

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)

#: How long a run stays at the most when nothing more comes.
STAYS = HEAD_START + LEAD


@pytest.fixture
def backend(session: boto3.Session, calls: Calls, clock: Clock) -> Backend:
    settings = Settings(precision=Precision.SECOND)
    return Backend.connect(settings, session, clock=clock, sleep=clock.sleep)


@pytest.fixture
def starts(worker: Worker, clock: Clock) -> list[datetime]:
    """When the action `act` of `worker` was started."""
    starts: list[datetime] = []
    worker.action("act")(lambda: starts.append(clock.now))
    return starts


@pytest.mark.parametrize("seconds", [0, 59])
def test_wherever_in_its_minute_the_rule_rings_it_is_before_the_due_date(
    editor: Editor, seconds: int
) -> None:
    due = NOON + timedelta(hours=1, seconds=seconds)
    editor.add("act", due=due)
    rings_at = editor.status().rings_at
    assert rings_at
    assert due - HEAD_START <= rings_at
    assert rings_at + MINUTE <= due - 10 * SECOND


def test_a_run_waits_for_the_due_date_and_starts_then(
    editor: Editor, worker: Worker, clock: Clock, starts: list[datetime]
) -> None:
    due = NOON + timedelta(hours=1, seconds=30)
    editor.add("act", due=due)
    clock.now = due - HEAD_START
    report = worker.run(time_left=5 * MINUTE)
    assert starts == [due]
    assert report.lateness_max_ms == 0


def test_it_does_not_wait_for_what_the_rule_can_ring_for_in_time(
    editor: Editor, worker: Worker, clock: Clock, starts: list[datetime]
) -> None:
    editor.add("act", due=NOON + STAYS + SECOND)
    report = worker.run(time_left=5 * MINUTE)
    assert (starts, clock.now) == ([], NOON)
    assert report.rings_at
    assert report.rings_at + MINUTE < NOON + STAYS


def test_a_task_that_is_added_meanwhile_is_started_in_time_and_the_rule_left_alone(
    editor: Editor, worker: Worker, clock: Clock, *, starts: list[datetime], calls: Calls, aws: Hooks
) -> None:
    # Given a run that waits
    editor.add("act", due=NOON + 100 * SECOND)
    dues = [NOON + 40 * SECOND, NOON + 11.5 * SECOND]
    puts = []

    def add(**_: object) -> None:
        if clock.now > NOON + 10 * SECOND and dues:
            before = calls["PutRule"]
            editor.add("act", due=dues.pop())
            puts.append(calls["PutRule"] - before)

    aws.before("dynamodb.GetItem", add)

    # When tasks are added that are due sooner
    worker.run(time_left=5 * MINUTE)

    # Then these are started in time as well, and adding them has not set the rule
    assert starts == [NOON + 11.5 * SECOND, NOON + 40 * SECOND, NOON + 100 * SECOND]
    assert puts == [0, 0]


def test_while_an_action_takes_long_others_start_in_time(
    editor: Editor, backend: Backend, clock: Clock, stage: Stage
) -> None:
    worker = Worker(backend=backend, pool=stage)
    starts: list[datetime] = []
    worker.action("long")(lambda: stage.sleep(70))
    worker.action("act")(lambda: starts.append(clock.now))
    editor.add("long", due=NOON)
    dues = [NOON + timedelta(seconds=seconds) for seconds in (0.5, 3, 7.125, 30, 69)]
    editor.add_many({"action": "act", "due": due} for due in dues)
    worker.run(time_left=5 * MINUTE)
    assert starts == dues


def test_it_stops_waiting_in_good_time_and_gives_the_lanes_back(
    editor: Editor, worker: Worker, backend: Backend, clock: Clock, starts: list[datetime]
) -> None:
    editor.add("act", due=NOON + 60 * SECOND)
    report = worker.run(time_left=50 * SECOND)
    assert (starts, report.done) == ([], 0)
    assert clock.now - NOON == 40 * SECOND
    record = backend.armer.read()
    assert record.lanes_of(report.run) == ()
    assert report.rings_at == NOON + 2 * MINUTE


def test_the_workers_precision_is_what_editors_go_by(
    backend: Backend, clock: Clock, session: boto3.Session
) -> None:
    # Given an editor that knows nothing of it, and a rule armed to the minute
    plain = Backend.connect(Settings(), session, clock=clock, sleep=clock.sleep)
    editor = Editor(backend=plain)
    due = NOON + timedelta(hours=1)
    editor.add("act", due=due)
    assert editor.status().rings_at == due

    # When a worker with precision "second" has run once
    Worker(backend=backend, pool=lambda _: InlinePool()).run()

    # Then the rule rings early enough, and for what that editor adds too
    assert editor.status().rings_at == due - 2 * MINUTE
    editor.add("act", due=due - timedelta(minutes=30))
    assert editor.status().rings_at == due - timedelta(minutes=32)

    # And a worker without turns that back
    Worker(backend=plain, pool=lambda _: InlinePool()).run()
    assert editor.status().rings_at == due - timedelta(minutes=30)
