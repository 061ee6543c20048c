"""A heartbeat: an event for no lanes has the worker set the bell right, whatever was done to it."""

from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from duebell import Worker
from duebell_infra.testing import InlinePool
from duebell_shared.bell.armer import arming_event
from duebell_shared.bell.expression import SENTINEL
from tests.editor.memory import Scheduler
from tests.support import NOON

HOUR = timedelta(hours=1)


def beat(worker: Worker) -> None:
    """Hand the worker what the rule of the heartbeat sends, by both templates."""
    context: Any = SimpleNamespace(aws_request_id="beat", get_remaining_time_in_millis=lambda: 60_000)
    worker.handler(arming_event(), context)


def parked_by_hand(scheduler: Scheduler) -> None:
    scheduler.events.rule["ScheduleExpression"] = SENTINEL


def ring_lost(scheduler: Scheduler) -> None:
    scheduler.clock.now = NOON + 3 * HOUR


def edited(scheduler: Scheduler) -> None:
    scheduler.events.rule["ScheduleExpression"] = "cron(0 0 1 1 ? 2031)"


@pytest.mark.parametrize("fault", [parked_by_hand, ring_lost, edited])
def test_a_heartbeat_finds_and_repairs_what_was_done_to_the_rule(fault: Callable[[Scheduler], None]) -> None:
    scheduler = Scheduler.start()
    worker = Worker(backend=scheduler.backend, pool=lambda _: InlinePool())
    worker.action("act")(lambda: None)
    worker.register()
    scheduler.editor.add("act", due=NOON + 2 * HOUR, id="one")
    # Given a rule that is not what the queue needs
    fault(scheduler)
    assert not scheduler.editor.status().armed
    # When the heartbeat comes, then the rule rings for the task
    beat(worker)
    status = scheduler.editor.status()
    assert status.armed
    assert status.rings_at
    assert status.rings_at <= max(NOON + 2 * HOUR, scheduler.clock.now + timedelta(minutes=2))


def test_a_heartbeat_leaves_a_bell_that_is_right_as_it_is() -> None:
    scheduler = Scheduler.start()
    worker = Worker(backend=scheduler.backend, pool=lambda _: InlinePool())
    worker.action("act")(lambda: None)
    worker.register()
    scheduler.editor.add("act", due=NOON + 2 * HOUR, id="one")
    put = len(scheduler.events.put)
    beat(worker)
    assert len(scheduler.events.put) == put
