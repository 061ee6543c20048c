"""The scheduler's life in one story: the rule's expression as tasks are added and run.

On moto, with the wall clock frozen by freezegun, by what users import.
"""

from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import boto3
import pytest
from freezegun import freeze_time

from duebell import Editor, Status, Task, Worker
from duebell_shared.backend import Backend
from duebell_shared.bell.expression import LEAD, SENTINEL, next_ring
from tests.support import NOON, Clock, SetFor

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

REAL = datetime  # which is another one while the wall clock is frozen
YEAR_END = datetime(2026, 12, 31, tzinfo=UTC)


class Lambda:
    """The context of an invocation that has all the time it needs."""

    def get_remaining_time_in_millis(self) -> int:
        return 900_000


@pytest.fixture(autouse=True)
def _every_rule_rings_in_the_future(session: boto3.Session, clock: Clock) -> None:
    """Every PutRule that duebell makes names a minute that is safely to come, or the sentinel."""

    def check(params: dict[str, Any], **_: Any) -> None:
        expression = params["ScheduleExpression"]
        now = clock.now if datetime is REAL else datetime.now(UTC)
        # An early ring may come, of which nothing depends: it is one minute before
        ring = next_ring(expression, now)
        assert expression == SENTINEL or (ring and ring >= now + LEAD - timedelta(minutes=1)), (
            expression,
            now,
        )

    session.events.register("provide-client-params.events.PutRule", check)


@pytest.fixture
def worker(backend: Backend) -> Worker:
    worker = Worker(backend=backend)

    @worker.action("act")
    def act() -> None: ...

    return worker


def expression(events: "EventBridgeClient") -> str:
    return events.describe_rule(Name="duebell")["ScheduleExpression"]


def test_the_rule_follows_the_queue(session: boto3.Session, events: "EventBridgeClient") -> None:
    # Given a service and a worker, on the first of December
    with freeze_time(datetime(2026, 12, 1, 12, tzinfo=UTC)) as now:
        editor = Editor(session=session)
        worker = Worker(session=session)
        ran = []

        @worker.action("act")
        def act(task: Task) -> None:
            ran.append((task.id, datetime.now(UTC)))

        # An empty queue: parked.
        assert expression(events) == SENTINEL

        # The first task: armed for it.
        act.using(due=YEAR_END, id="year-end").add()
        assert expression(events) == SetFor(YEAR_END)

        # A later one: unchanged.
        editor.add("act", due=timedelta(days=31), id="later")
        assert editor.get("later").due == datetime(2027, 1, 1, 12, tzinfo=UTC)
        assert expression(events) == SetFor(YEAR_END)

        # An earlier one: armed for that.
        editor.add("act", due=datetime(2026, 12, 24, 18, 30, tzinfo=UTC), id="earlier")
        assert expression(events) == SetFor(datetime(2026, 12, 24, 18, 30, tzinfo=UTC))

        # The rule rings in that minute: it is done, and the rule is at the next.
        now.move_to(datetime(2026, 12, 24, 18, 30, 14, tzinfo=UTC))
        report = worker.handler({}, Lambda())
        assert (report["done"], report["lateness_max_ms"]) == (1, 14_000)
        assert editor.get("earlier").status is Status.DONE
        assert editor.get("year-end").status is Status.SCHEDULED
        assert expression(events) == SetFor(YEAR_END)

        # The rest is run, one after the other: parked again.
        now.move_to(YEAR_END + timedelta(seconds=3))
        worker.handler({}, Lambda())
        assert expression(events) == SetFor(datetime(2027, 1, 1, 12, tzinfo=UTC))
        now.move_to(datetime(2027, 1, 1, 12, 0, 59, tzinfo=UTC))
        worker.handler({}, Lambda())
        assert expression(events) == SENTINEL
        assert [id for id, _ in ran] == ["earlier", "year-end", "later"]
        assert ran[0][1] == datetime(2026, 12, 24, 18, 30, 14, tzinfo=UTC)
        assert {editor.get(id).status for id, _ in ran} == {Status.DONE}
        assert editor.status().healthy


#: What is due before 12:02, at 12:00:20.
PAST = datetime(2026, 11, 21, 12, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("due", "rings"),
    [
        # Offsets other than UTC.
        (datetime(2026, 12, 31, tzinfo=ZoneInfo("Europe/Berlin")), datetime(2026, 12, 30, 23, tzinfo=UTC)),
        (
            datetime(2026, 7, 1, 9, tzinfo=ZoneInfo("America/New_York")),
            PAST,
        ),
        (datetime(2027, 7, 1, 9, tzinfo=ZoneInfo("America/New_York")), datetime(2027, 7, 1, 13, tzinfo=UTC)),
        (
            datetime(2027, 1, 1, tzinfo=timezone(timedelta(hours=5, minutes=45))),
            datetime(2026, 12, 31, 18, 15, tzinfo=UTC),
        ),
        # Seconds within a minute: the first whole minute that is not before.
        (datetime(2026, 12, 31, 10, 5, 30, tzinfo=UTC), datetime(2026, 12, 31, 10, 6, tzinfo=UTC)),
        (datetime(2026, 12, 31, 10, 5, 0, 1, tzinfo=UTC), datetime(2026, 12, 31, 10, 6, tzinfo=UTC)),
        (datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)),
        (datetime(2028, 2, 28, 23, 59, 1, tzinfo=UTC), datetime(2028, 2, 29, tzinfo=UTC)),
        # In the past, now, in the current minute, in the next: the first minute that is safe, and the one
        # before, which mostly comes. It is 12:00:20.
        (datetime(1999, 1, 1, tzinfo=UTC), PAST),
        (timedelta(0), PAST),
        (NOON + timedelta(seconds=59), PAST),
        (NOON + timedelta(minutes=1), PAST),
        (NOON + timedelta(minutes=2), datetime(2026, 11, 21, 12, 2, tzinfo=UTC)),
        (NOON + timedelta(minutes=2, seconds=1), datetime(2026, 11, 21, 12, 3, tzinfo=UTC)),
        # The last minute there is.
        (datetime(2199, 12, 31, 23, 59, tzinfo=UTC), datetime(2199, 12, 31, 23, 59, tzinfo=UTC)),
    ],
)
def test_the_minute_that_the_rule_is_set_to(
    editor: Editor, clock: Clock, events: "EventBridgeClient", due: datetime | timedelta, rings: datetime
) -> None:
    clock.now = NOON + timedelta(seconds=20)
    editor.add("act", due=due)
    assert expression(events) == SetFor(rings)


def test_a_task_that_is_due_at_once_runs_at_the_first_safe_minute(
    editor: Editor, worker: Worker, clock: Clock, events: "EventBridgeClient"
) -> None:
    task = editor.add("act", due=timedelta(seconds=-5))
    clock.now = next_ring(expression(events), clock.now) or clock.now
    worker.run()
    assert editor.get(task.id).status is Status.DONE
    assert expression(events) == SENTINEL
