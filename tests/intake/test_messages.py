"""Messages are read as the API reads its bodies, with a verb beside the fields."""

from datetime import timedelta
from typing import Any

import pytest

from duebell import NewTask
from duebell_editor.intake.messages import Change, Entry, Message, entries_of
from duebell_shared.tasks.status import Verb
from duebell_shared.tasks.task import IntakeMark
from tests.intake.conftest import record
from tests.support import NOON

HOUR = timedelta(hours=1)
DUE = {"due": "2026-12-31T00:00:00Z"}
PUSH = {"action": "a", "if_exists": "push"}
EVENT = "17793124-05d4-b198-2fde-7ededc63b103"


def read(body: object, **given: Any) -> list[Entry]:
    return entries_of(Message.of(record(body, **given), NOON))


def wanted(body: object, **given: Any) -> Any:
    [entry] = read(body, **given)
    return entry.wanted


def test_an_object_adds_a_task_by_the_messages_id() -> None:
    task = wanted({"action": "remind", "in": 90, "payload": {"user": 7}})
    assert task == NewTask(action="remind", due=NOON + timedelta(seconds=90), payload={"user": 7}, id="m-1")


def test_in_counts_from_when_the_message_was_sent_however_often_it_comes() -> None:
    entry = {"action": "remind", "in": 3600}
    assert {wanted(entry, sent=NOON - HOUR, received=n)["due"] for n in (1, 7)} == {NOON}
    move = {"do": "move", "id": "a", "in": 3600}
    assert wanted(move, sent=NOON - HOUR).fields == {"due": NOON}
    push = wanted({**PUSH, "in": 3600, "id": "one", "max_wait": 7200}, sent=NOON - HOUR)
    assert (push.fields["due"], push.max_wait, push.sent) == (NOON, 2 * HOUR, NOON - HOUR)


@pytest.mark.parametrize("kind", ["add", "move", "update", "cancel", "backfill"])
def test_an_event_of_a_bus_says_by_its_detail_type_what_to_do(kind: str) -> None:
    detail: dict[str, Any] = {
        "add": {"action": "remind", **DUE},
        "move": {"id": "a", **DUE},
        "cancel": {"id": "a"},
    }
    detail["update"] = {"id": "a", "payload": 1}
    detail["backfill"] = {"id": "a", "start": "2026-01-01T00:00:00Z", "end": "2026-01-02T00:00:00Z"}
    event = {"version": "0", "id": EVENT, "detail-type": f"duebell.{kind}", "detail": detail[kind]}
    want = wanted(event)
    assert want == wanted({"do": kind, **detail[kind]}, id=EVENT)
    # And one that the bus sends twice, as two messages, is the same
    assert wanted(event, id="m-2") == want


@pytest.mark.parametrize(
    "id", ["CI pushed main", "m-1 pushed 2199-12-31T00:00:00.000Z", EVENT + "\n", "", 7, None]
)
def test_an_event_whose_id_is_none_of_eventbridges_goes_by_its_messages_id(id: object) -> None:
    event = {"id": id, "detail-type": "duebell.cancel", "detail": {"id": "a"}}
    assert wanted(event) == wanted({"do": "cancel", "id": "a"})


def test_a_message_is_not_taken_for_one_of_the_future() -> None:
    entry = {"action": "remind", "in": 0}
    assert wanted(entry, sent=NOON + timedelta(seconds=30))["due"] == NOON + timedelta(seconds=30)
    assert wanted(entry, sent=NOON + 100_000 * HOUR)["due"] == NOON + timedelta(minutes=1)


def test_changes_have_the_fields_of_the_api() -> None:
    assert wanted({"do": "cancel", "id": "a"}) == Change(
        verb=Verb.CANCEL, id="a", mark=IntakeMark(source="m-1"), sent=NOON
    )
    moved = wanted({"do": "move", "id": "a", **DUE})
    assert (moved.verb, list(moved.fields)) == (Verb.MOVE, ["due"])
    updated = wanted({"do": "update", "id": "a", "payload": None, "action": "ring", "end": None})
    assert (updated.verb, updated.fields) == (Verb.UPDATE, {"payload": None, "action": "ring", "end": None})
    # As with PATCH, a due date alone moves a running task, too; its right is that of an update
    assert wanted({"do": "update", "id": "a", "in": 60}).verb == Verb.UPDATE
    # And each of a list has a mark of its own
    several = [{"do": "cancel", "id": "a"}, {"do": "cancel", "id": "a"}]
    marks = [entry.wanted.mark for entry in read(several) if isinstance(entry.wanted, Change)]
    assert marks == [IntakeMark(source="m-1"), IntakeMark(source="m-1", place=1)]
