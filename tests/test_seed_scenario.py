"""The scheduler's life in one story: the rule's expression as tasks are added and run.

On moto, with the wall clock frozen by freezegun, by what users import.
"""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import boto3
from freezegun import freeze_time

from duebell import Editor, Status, Task, Worker
from duebell_shared.bell.expression import LEAD, SENTINEL, next_ring
from tests.support import SetFor
from tests.worker.starting import CONTEXT

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

YEAR_END = datetime(2026, 12, 31, tzinfo=UTC)


def rings_in_the_future(params: dict[str, Any], **_: Any) -> None:
    """Each PutRule names a minute that is safely to come, or the sentinel."""
    expression, now = params["ScheduleExpression"], datetime.now(UTC)
    # An early ring may come, of which nothing depends: it is one minute before
    ring = next_ring(expression, now)
    assert expression == SENTINEL or (ring and ring >= now + LEAD - timedelta(minutes=1))


def expression(events: "EventBridgeClient") -> str:
    return events.describe_rule(Name="duebell")["ScheduleExpression"]


def test_the_rule_follows_the_queue(session: boto3.Session, events: "EventBridgeClient") -> None:
    session.events.register("provide-client-params.events.PutRule", rings_in_the_future)
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

        # An earlier one, by another clock: armed for the first whole minute that is not before.
        berlin = ZoneInfo("Europe/Berlin")
        editor.add("act", due=datetime(2026, 12, 24, 19, 29, 30, tzinfo=berlin), id="earlier")
        assert expression(events) == SetFor(datetime(2026, 12, 24, 18, 30, tzinfo=UTC))

        # The rule rings in that minute: it is done, and the rule is at the next.
        now.move_to(datetime(2026, 12, 24, 18, 30, 14, tzinfo=UTC))
        report = worker.handler({}, CONTEXT)
        assert (report["done"], report["lateness_max_ms"]) == (1, 44_000)
        assert editor.get("earlier").status is Status.DONE
        assert editor.get("year-end").status is Status.SCHEDULED
        assert expression(events) == SetFor(YEAR_END)

        # The rest is run, one after the other: parked again.
        now.move_to(YEAR_END + timedelta(seconds=3))
        worker.handler({}, CONTEXT)
        assert expression(events) == SetFor(datetime(2027, 1, 1, 12, tzinfo=UTC))
        now.move_to(datetime(2027, 1, 1, 12, 0, 59, tzinfo=UTC))
        worker.handler({}, CONTEXT)
        assert expression(events) == SENTINEL
        assert [id for id, _ in ran] == ["earlier", "year-end", "later"]
        assert ran[0][1] == datetime(2026, 12, 24, 18, 30, 14, tzinfo=UTC)
        assert {editor.get(id).status for id, _ in ran} == {Status.DONE}
        assert editor.status().healthy
