"""The effects of batches of messages, and of lists that come again: tasks and dead letters."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest

from duebell import AwsUnavailable, Editor, NotArmed, QueueFull, Status, TaskConflict
from duebell_editor.intake.effects import take_effect
from duebell_editor.library.adder import Adder
from duebell_shared.bell.armer import Armer
from tests.intake.conftest import Inbox, record
from tests.support import NOON, Calls

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
ADD = {"action": "remind", "in": 3600}
MOVE = {"do": "move", "id": "a", "in": 600}
CANCEL = {"do": "cancel", "id": "a"}


def ids(inbox: Inbox) -> set[str]:
    return {task.id for task in inbox.editor.list().tasks}


def test_a_batch_is_added_with_one_call_and_armed_once(inbox: Inbox, calls: Calls) -> None:
    inbox.editor.ensure_armed()
    calls.clear()
    inbox.take(*({**ADD, "id": f"t-{n}"} for n in range(20)))
    assert calls["BatchExecuteStatement"] == calls["PutRule"] == 1
    assert inbox.editor.status().next_due == NOON + HOUR
    assert {task.changed_by for task in inbox.editor.list().tasks} == {"intake"}


def test_a_backfill_adds_each_occurrence_once_however_often_it_comes(inbox: Inbox) -> None:
    inbox.editor.add("report", schedule="0 9 * * *", id="daily", payload=7)
    span = {"start": "2026-11-01T00:00:00Z", "end": "2026-11-03T23:00:00Z"}
    wrong = {"do": "backfill", "id": "daily", **span, "end": "2030-01-01T00:00:00Z"}
    for _ in range(2):
        inbox.take(record([{"do": "backfill", "id": "daily", **span}, wrong]))
    tasks = inbox.editor.find("daily@").tasks
    assert [(task.due.day, task.payload, task.changed_by) for task in tasks] == [
        (day, 7, "intake m-1") for day in (1, 2, 3)
    ]
    assert inbox.wrong() == {"1": "end"}


def test_a_batch_of_many_lists_is_taken_in_portions_while_there_is_time(
    inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given portions that take ten seconds each, and an empty list among their messages
    monkeypatch.setattr("duebell_editor.intake.batch._PORTION", 4)

    def slowly(*args: Any) -> Any:
        inbox.clock.advance(10 * SECOND)
        return take_effect(*args)

    monkeypatch.setattr("duebell_editor.intake.batch.take_effect", slowly)
    lists = [record([ADD] * 2, f"m-{n}", sent=NOON - n * MINUTE) for n in range(9)]
    lists.append(record([], "nothing", sent=NOON - HOUR))
    # When there is time for two of them, then those sent first are taken, and none of the others is read
    assert inbox.again(*lists, until=NOON + 15 * SECOND) == [f"m-{n}" for n in range(5)]
    assert ids(inbox) == {f"m-{n}-{place}" for n in range(5, 9) for place in (0, 1)}
    # And one portion is taken however late it is, so that the rest gets smaller each time
    assert len(inbox.again(*lists[:5], until=NOON)) == 3
    inbox.take(*lists)
    assert len(ids(inbox)) == 18


def test_changes_follow_the_adds_and_each_other_as_they_were_sent(inbox: Inbox) -> None:
    at = "2026-11-22T0{}:00:00Z"
    others = [{"do": "update", "id": "b", "payload": 2}, {"do": "cancel", "id": "c"}]
    with patch.object(Editor, "ensure_armed") as armed:
        inbox.take(
            record({"do": "move", "id": "a", "due": at.format(7)}, "m-1", sent=NOON - MINUTE),
            record({"do": "move", "id": "a", "due": at.format(6)}, "m-2", sent=NOON - 2 * MINUTE),
            record(others, "m-3", sent=NOON - 3 * MINUTE),
            record([{**ADD, "id": id} for id in "abc"], "m-4", sent=NOON),
        )
    assert not armed.called, "only what was made before is armed again"
    a, b, c = (inbox.editor.get(id) for id in "abc")
    assert (a.due.isoformat(), a.changed_by) == ("2026-11-22T07:00:00+00:00", "intake m-1")
    assert (b.payload, b.changed_by) == (2, "intake m-3")
    assert c.status is Status.CANCELLED


def test_a_wrong_entry_of_a_list_is_a_dead_letter_alone_with_its_reason(
    inbox: Inbox, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "duebell.intake")
    wrong = {**ADD, "payload": {"secret": 1}, "max_runs": "ten\n", "schedule": "rate(1 day)"}
    inbox.take(record([{**ADD, "id": "a"}, wrong], "m-1"), record("no", "m-2"))
    assert ids(inbox) == {"a"}
    [(body, told), (other, also)] = sorted(inbox.queues.dead(), reverse=True, key=lambda one: one[0])
    assert json.loads(body) == wrong
    assert (told["duebell-message"], told["duebell-place"]) == ("m-1", "1")
    assert told["duebell-reason"].isprintable()
    assert (other, set(also)) == ("no", {"duebell-reason", "duebell-field", "duebell-message"})
    # And the log says that there was one, and no payload
    assert "secret" not in caplog.text
    events = [one.message for one in caplog.records]
    assert events == ["intake_dead_letter", "intake_dead_letter", "intake"]


def test_a_payload_that_does_not_fit_is_a_dead_letter_and_its_neighbours_are_added(inbox: Inbox) -> None:
    def remind(*, user: int) -> None: ...

    inbox.declare("remind", remind)
    payloads: list[object] = [{"user": 0}, {"user": "anna"}, {"user": 1}, [7], {"user": 2}]
    inbox.take(record([{**ADD, "payload": payload} for payload in payloads]))
    assert list(inbox.wrong()) == ["1", "3"]
    assert ids(inbox) == {"m-1-0", "m-1-2", "m-1-4"}


@contextmanager
def failing(kind: type, method: str, error: Exception) -> Iterator[None]:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    with patch.object(kind, method, fail):
        yield


@pytest.mark.parametrize(
    "failure",
    [
        (Adder, "add_many", AwsUnavailable("throttled")),
        (Adder, "add_many", RuntimeError("a bug")),
        (Armer, "lower", NotArmed("not confirmed")),
    ],
)
def test_what_may_succeed_later_comes_again(inbox: Inbox, failure: tuple[type, str, Exception]) -> None:
    # Given a list with an entry that can never be right, too
    inbox.queues.send([{**ADD, "id": "a"}, {"action": 7}])
    [message] = inbox.queues.received()
    with failing(*failure):
        assert inbox.again(message) == [message["messageId"]]
    # Then that is no dead letter yet, as it would be one more each time
    assert inbox.wrong() == {}
    # And all is done when it comes again, with the rule armed
    inbox.take(message)
    assert inbox.editor.status().next_due
    assert inbox.editor.status().healthy
    assert set(inbox.wrong()) == {"1"}


def test_a_full_lane_keeps_its_messages_waiting(inbox: Inbox) -> None:
    full = QueueFull("a", 0)
    with patch("duebell_editor.library.adder.insert_many", lambda _, tasks, __: [full for _ in tasks]):
        assert inbox.again(record({**ADD, "id": "a"}, received=90)) == ["m-1"]
    assert inbox.wrong() == {}


def test_a_change_that_aws_did_not_answer_is_not_overtaken_by_the_next(inbox: Inbox) -> None:
    inbox.editor.add("remind", due=HOUR, id="a")
    batch = [
        record({"do": "move", "id": "a", "in": 60}, "m-1"),
        record({"do": "update", "id": "a", "payload": 1}, "m-2", sent=NOON + MINUTE),
        record({"do": "cancel", "id": "b"}, "m-3"),
    ]
    with failing(Editor, "move", AwsUnavailable("no answer")):
        assert inbox.again(*batch) == ["m-1", "m-2", "m-3"]
    assert inbox.editor.get("a").payload != 1
    assert inbox.again(*batch) == ["m-3"]
    assert inbox.editor.get("a").payload == 1


def test_an_entry_of_a_list_is_a_letter_that_sqs_takes(inbox: Inbox) -> None:
    payload = '[12345678901234567890,1e400,"日本 🔔","\\uffff","\\ud800","\\u0001"]'
    wrong = f'{{"action":"remind","in":60,"spread":-1,"payload":{payload}}}'
    inbox.take(f"[{wrong}]")
    [(body, _)] = inbox.queues.dead()
    assert json.loads(body) == json.loads(wrong)
    assert body.isprintable()


def update(payload: object) -> dict[str, Any]:
    return {"do": "update", "id": "a", "payload": payload}


@pytest.mark.parametrize("last", [CANCEL, MOVE, update(2)], ids=["cancel", "move", "update"])
def test_a_list_that_has_taken_effect_is_done_when_it_comes_again(inbox: Inbox, last: dict[str, Any]) -> None:
    inbox.editor.add("remind", due=HOUR, id="a")
    changes = [{**MOVE, "in": 900}, update(1), last]
    inbox.take(record(changes))
    after = inbox.editor.get("a")
    # When SQS delivers it once more, for the last time
    inbox.take(record(changes, received=10))
    # Then nothing has changed, and nothing is a dead letter
    assert inbox.editor.get("a") == after
    assert after.changed_by == "intake m-1"
    assert inbox.wrong() == {}


@pytest.mark.parametrize("changes", [MOVE, [MOVE, update({})]], ids=["one", "two"])
def test_a_move_that_comes_twice_leaves_the_next_occurrence_alone(inbox: Inbox, changes: object) -> None:
    # Given a recurring task whose occurrence was moved by a message, and has run since
    inbox.worker.action("report")(lambda: None)
    inbox.editor.add("report", schedule="rate(1 day)", start=NOON + HOUR, id="a")
    inbox.take(record(changes))
    inbox.clock.advance(2 * HOUR)
    assert inbox.worker.run().done == 1
    due = inbox.editor.get("a").due
    # When the message comes once more, then the next occurrence is where it was
    inbox.take(record(changes))
    assert inbox.editor.get("a").due == due > inbox.clock.now


def test_a_wrong_change_among_right_ones_is_told_when_its_list_is_done(inbox: Inbox) -> None:
    # Given a change that the worker's action refuses, and one that waits for its task
    def remind(*, user: int) -> None: ...

    inbox.declare("remind", remind)
    inbox.editor.add("remind", due=HOUR, id="a", payload={"user": 1})
    changes = [update({"user": 2}), update({"user": "anna"}), CANCEL, {**CANCEL, "id": "nowhere"}]
    assert inbox.again(record(changes)) == ["m-1"]
    assert inbox.wrong() == {}
    # When the list is given up
    inbox.take(record(changes, received=10))
    # Then what was refused is a dead letter, as is the later change of its task; what took effect is none
    assert set(inbox.wrong()) == {"1", "2", "3"}
    assert inbox.editor.get("a").payload == {"user": 2}


def test_a_later_change_waits_for_an_earlier_one_of_its_list(inbox: Inbox) -> None:
    inbox.editor.add("remind", due=HOUR, id="a")
    both = [update(1), MOVE]
    with failing(Editor, "update", TaskConflict("it runs")):
        assert inbox.again(record(both)) == ["m-1"]
    assert inbox.editor.get("a").due == NOON + HOUR
    # When the list comes again, then both are made
    inbox.take(record(both))
    task = inbox.editor.get("a")
    assert (task.payload, task.due, task.changed_by) == (1, NOON + HOUR / 6, "intake m-1")
