"""Messages that push a task: the run is so long after the last of them, however they come."""

from datetime import timedelta
from typing import Any

import pytest

from duebell import Status
from tests.intake.conftest import Inbox, record
from tests.support import NOON, Calls

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)

PUSH = {"action": "index", "id": "one", "in": 600, "if_exists": "push"}


class Events:
    """Events that each push the one task by ten minutes, as messages; they are taken when they were sent."""

    def __init__(self, inbox: Inbox) -> None:
        self.inbox = inbox
        self.sent: dict[str, dict[str, Any]] = {}

    def event(self, id: str, *, after: timedelta = timedelta(0), **fields: Any) -> dict[str, Any]:
        """The message of an event that happens so long after the one before."""
        self.inbox.clock.advance(after)
        self.sent[id] = record({**PUSH, "payload": id, **fields}, id, sent=self.inbox.clock.now)
        return self.sent[id]

    def happen(self, id: str, *, after: timedelta = timedelta(0), **fields: Any) -> None:
        self.inbox.take(self.event(id, after=after, **fields))

    @property
    def found(self) -> tuple[timedelta, Any]:
        """When the task is due, from NOON on, and its payload."""
        task = self.inbox.editor.get("one")
        return task.due - NOON, task.payload


@pytest.fixture
def events(inbox: Inbox) -> Events:
    return Events(inbox)


def test_each_event_puts_the_task_off(events: Events, inbox: Inbox) -> None:
    events.happen("m-1")
    assert events.found == (10 * MINUTE, "m-1")
    events.happen("m-2", after=4 * MINUTE)
    assert events.found == (14 * MINUTE, "m-2")
    assert inbox.editor.status().rings_at == NOON + 10 * MINUTE
    # And no further than at most so long after the first
    events.happen("m-3", after=4 * MINUTE, max_wait=900)
    assert events.found == (15 * MINUTE, "m-3")


def test_an_older_event_that_comes_late_or_twice_changes_nothing(events: Events, inbox: Inbox) -> None:
    # Given events of which the first comes twice, and the second last
    events.happen("m-1")
    second = events.event("m-2", after=MINUTE)
    events.happen("m-3", after=MINUTE)
    after = inbox.editor.get("one")
    inbox.take(events.sent["m-1"])
    inbox.take(second)
    # Then the third holds
    assert inbox.editor.get("one") == after
    assert events.found == (12 * MINUTE, "m-3")


@pytest.mark.parametrize("author", ["intake m-1 pushed 2199-12-31T00:00:00.000Z", "intake m-2"])
def test_an_author_of_any_name_silences_no_event(events: Events, inbox: Inbox, author: str) -> None:
    anna = inbox.editor.acting_as(author)
    anna.add("index", due=MINUTE, id="one")
    anna.update("one", payload="anna's")
    events.happen("m-2")
    assert events.found == (10 * MINUTE, "m-2")


def test_a_forged_event_silences_no_later_one(events: Events, inbox: Inbox) -> None:
    # Given an event whose id is the text of a mark, and a message that says it was sent in the far future
    forged = {"id": "x pushed 2199-12-31T00:00:00.000Z", "detail-type": "duebell.update"}
    events.happen("m-1")
    inbox.take(record({**forged, "detail": {"id": "one", "payload": "forged"}}, "m-2"))
    assert inbox.editor.get("one").changed_by == "intake m-2"
    inbox.take(record(PUSH, "m-3", sent=NOON + 100_000 * MINUTE))
    # When an event happens later, then it counts
    events.happen("m-4", after=2 * MINUTE)
    assert events.found == (12 * MINUTE, "m-4")


def test_an_event_before_the_last_one_starts_no_second_run(events: Events, inbox: Inbox) -> None:
    # Given a run that followed the last event
    ran: list[str] = []

    def note(payload: str) -> None:
        ran.append(payload)

    inbox.worker.action("index")(note)
    events.happen("m-1")
    events.happen("m-2", after=MINUTE)
    inbox.clock.advance(12 * MINUTE)
    inbox.worker.run()
    # When both come once more, then nothing is to run
    inbox.take(*events.sent.values())
    assert inbox.editor.get("one").status is Status.DONE
    # And the next event is
    events.happen("m-3")
    assert events.found == (23 * MINUTE, "m-3")
    inbox.clock.advance(11 * MINUTE)
    inbox.worker.run()
    assert ran == ["m-2", "m-3"]


def test_a_burst_of_events_is_one_push(events: Events, inbox: Inbox, calls: Calls) -> None:
    events.happen("m-0")
    burst = [events.event(f"m-{n}", after=SECOND) for n in range(1, 9)]
    calls.clear()
    inbox.take(*reversed(burst))
    assert events.found == (10 * MINUTE + 8 * SECOND, "m-8")
    assert inbox.editor.get("one").rev == 2
    assert calls["PutItem"] + calls["UpdateItem"] <= 2


def test_a_push_that_cannot_be_right_is_a_dead_letter_and_the_one_before_it_holds(
    events: Events, inbox: Inbox
) -> None:
    def index(payload: str) -> None: ...

    inbox.declare("index", index)
    burst = [events.event(f"m-{n}", after=SECOND, payload=one) for n, one in enumerate(["a", "b", 3])]
    inbox.take(*burst, events.event("m-9", priority=17))
    assert events.found == (10 * MINUTE + 2 * SECOND, "b")
    assert inbox.wrong() == {"m-2": "payload", "m-9": "priority"}


def test_pushes_and_changes_of_a_list_are_made_once_in_its_order(inbox: Inbox) -> None:
    def push(payload: object) -> dict[str, Any]:
        return {**PUSH, "payload": payload}

    # Given a list that adds by a push, cancels, and pushes twice; and that comes again with one change more
    changes = [push(1), {"do": "cancel", "id": "one"}, push(2), push(3)]
    more = [*changes, {"do": "update", "id": "one", "payload": 4}]
    for longer, found in ((changes, (3, 3)), (more, (4, 4))):
        inbox.take(record(longer))
        after = inbox.editor.get("one")
        assert (after.payload, after.rev) == found
        assert (after.status, after.changed_by) == (Status.SCHEDULED, "intake m-1")
        # When it comes again, then nothing changes
        inbox.take(record(longer))
        assert inbox.editor.get("one") == after
