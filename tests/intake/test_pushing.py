"""Messages that push a task: the run is so long after the last of them, however they come."""

from datetime import timedelta
from typing import Any

import pytest

from duebell import AwsUnavailable, Editor, Status, TaskNotFound, Worker
from duebell_editor.intake import Intake
from duebell_editor.library.adder import Adder
from duebell_shared.backend import Backend
from tests.intake.conftest import Queues, again, record
from tests.intake.test_batches import failing
from tests.support import NOON, Calls, Clock

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


class Events:
    """Events that each push the one task by ten minutes, as messages; they are taken when they were sent."""

    def __init__(self, intake: Intake, editor: Editor, clock: Clock) -> None:
        self.intake = intake
        self.editor = editor
        self.clock = clock
        self.sent: dict[str, dict[str, Any]] = {}

    def event(self, id: str, **fields: Any) -> dict[str, Any]:
        """The message of an event of now."""
        body = {"action": "index", "id": "one", "in": 600, "if_exists": "push", "payload": id, **fields}
        self.sent[id] = record(body, id, sent=self.clock.now)
        return self.sent[id]

    def happen(self, id: str, **fields: Any) -> None:
        self.come(self.event(id, **fields))

    def come(self, *messages: dict[str, Any]) -> None:
        assert again(self.intake.take(list(messages))) == []

    @property
    def found(self) -> tuple[timedelta, Any]:
        """When the task is due, from NOON on, and its payload."""
        task = self.editor.get("one")
        return task.due - NOON, task.payload


@pytest.fixture
def events(intake: Intake, editor: Editor, clock: Clock) -> Events:
    return Events(intake, editor, clock)


@pytest.mark.moto
def test_each_event_puts_the_task_off(events: Events, clock: Clock) -> None:
    events.happen("m-1")
    assert events.found == (10 * MINUTE, "m-1")
    clock.advance(4 * MINUTE)
    events.happen("m-2")
    assert events.found == (14 * MINUTE, "m-2")
    assert events.editor.status().rings_at == NOON + 10 * MINUTE
    # And no further than at most so long after the first
    clock.advance(4 * MINUTE)
    events.happen("m-3", max_wait=900)
    assert events.found == (15 * MINUTE, "m-3")


@pytest.mark.moto
def test_an_older_event_that_comes_late_or_twice_changes_nothing(events: Events, clock: Clock) -> None:
    # Given events of which the first comes twice, and the second last
    events.happen("m-1")
    clock.advance(MINUTE)
    second = events.event("m-2")
    clock.advance(MINUTE)
    events.happen("m-3")
    after = events.editor.get("one")
    # When these two come after the third
    events.come(events.sent["m-1"])
    events.come(second)
    # Then the third holds
    assert events.editor.get("one") == after
    assert events.found == (12 * MINUTE, "m-3")


@pytest.mark.moto
@pytest.mark.parametrize(
    "author", ["CI pushed main", "intake m-1 pushed 2199-12-31T00:00:00.000Z", "intake m-2", "intake m-2-0"]
)
def test_an_author_of_any_name_silences_no_event(events: Events, clock: Clock, author: str) -> None:
    events.editor.acting_as(author).add("index", due=MINUTE, id="one")
    events.editor.acting_as(author).update("one", payload="anna's")
    events.happen("m-2")
    assert events.found == (10 * MINUTE, "m-2")


@pytest.mark.moto
def test_a_forged_event_silences_no_later_one(events: Events, clock: Clock) -> None:
    # Given an event whose id is the text of a mark, and a message that says it was sent in the far future
    forged = {"id": "x pushed 2199-12-31T00:00:00.000Z", "detail-type": "duebell.update"}
    events.happen("m-1")
    events.come(record({**forged, "detail": {"id": "one", "payload": "forged"}}, "m-2"))
    assert events.editor.get("one").changed_by == "intake m-2"
    push = {"action": "index", "id": "one", "in": 600, "if_exists": "push"}
    events.come(record(push, "m-3", sent=NOON + 100_000 * MINUTE))
    # When an event happens later
    clock.advance(2 * MINUTE)
    events.happen("m-4")
    # Then it counts
    assert events.found == (12 * MINUTE, "m-4")


@pytest.mark.moto
def test_an_event_before_the_last_one_starts_no_second_run(
    events: Events, clock: Clock, backend: Backend
) -> None:
    # Given a run that followed the last event
    ran = []

    def note(payload: str) -> None:
        ran.append(payload)

    worker = Worker(backend=backend)
    worker.action("index")(note)
    events.happen("m-1")
    clock.advance(MINUTE)
    events.happen("m-2")
    clock.advance(12 * MINUTE)
    worker.run()
    # When both come once more, then nothing is to run
    events.come(*events.sent.values())
    assert events.editor.get("one").status is Status.DONE
    # And the next event is
    events.happen("m-3")
    assert events.found == (23 * MINUTE, "m-3")
    clock.advance(11 * MINUTE)
    worker.run()
    assert ran == ["m-2", "m-3"]


@pytest.mark.moto
def test_a_burst_of_events_is_one_push(events: Events, clock: Clock, calls: Calls) -> None:
    events.happen("m-0")
    burst = []
    for n in range(1, 9):
        clock.advance(SECOND)
        burst.append(events.event(f"m-{n}"))
    calls.clear()
    events.come(*reversed(burst))
    assert events.found == (10 * MINUTE + 8 * SECOND, "m-8")
    assert events.editor.get("one").rev == 2
    assert calls["PutItem"] + calls["UpdateItem"] <= 2


@pytest.mark.moto
def test_a_push_that_cannot_be_right_is_a_dead_letter_and_the_one_before_it_holds(
    events: Events, clock: Clock, backend: Backend, queues: Queues
) -> None:
    worker = Worker(backend=backend)

    @worker.action
    def index(payload: str) -> None: ...

    worker.register()
    burst = []
    for n, payload in enumerate(["a", "b", 3]):
        clock.advance(SECOND)
        burst.append(events.event(f"m-{n}", payload=payload))
    burst.append(events.event("m-9", priority=17))
    events.come(*burst)
    assert events.found == (10 * MINUTE + 2 * SECOND, "b")
    assert {told["duebell-message"]: told["duebell-field"] for _, told in queues.dead()} == {
        "m-2": "payload",
        "m-9": "priority",
    }


@pytest.mark.moto
def test_pushes_and_changes_of_a_list_are_made_once_in_its_order(events: Events, editor: Editor) -> None:
    def push(payload: object) -> dict[str, Any]:
        return {"action": "index", "id": "one", "in": 600, "if_exists": "push", "payload": payload}

    # Given a list that adds by a push, cancels, and pushes twice
    changes = [push(1), {"do": "cancel", "id": "one"}, push(2), push(3)]
    events.come(record(changes))
    after = editor.get("one")
    assert (after.status, after.payload, after.rev) == (Status.SCHEDULED, 3, 3)
    assert after.changed_by == "intake m-1"
    # When it comes again, then nothing changes
    events.come(record(changes))
    assert editor.get("one") == after
    # And so it is when something else follows
    longer = [*changes, {"do": "update", "id": "one", "payload": 4}]
    events.come(record(longer))
    after = editor.get("one")
    assert (after.payload, after.rev) == (4, 4)
    events.come(record(longer))
    assert editor.get("one") == after


@pytest.mark.moto
def test_a_burst_that_aws_does_not_answer_comes_again_whole(events: Events, editor: Editor) -> None:
    burst = [events.event(f"m-{n}") for n in range(3)]
    with failing(Adder, "add", AwsUnavailable("DynamoDB does not answer")):
        assert sorted(again(events.intake.take(burst))) == ["m-0", "m-1", "m-2"]
    with pytest.raises(TaskNotFound):
        editor.get("one")
    events.come(*burst)
    assert editor.get("one").rev == 1
