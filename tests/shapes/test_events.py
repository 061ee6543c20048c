"""The Lambda entry is woken with anything: the rule's event, a queue's, an API's, a test event, nonsense."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from duebell import Status

from .scene import Scene

CONTEXT = cast("Any", SimpleNamespace(get_remaining_time_in_millis=lambda: 300_000))

EVENTS: dict[str, object] = {
    "nothing": None,
    "text": "ring",
    "a number": 0,
    "a list": [1, [2]],
    "an empty object": {},
    "a rule's": {
        "source": "aws.events",
        "detail-type": "Scheduled Event",
        "resources": ["arn"],
        "detail": {},
    },
    "a queue's": {"Records": [{"eventSource": "aws:sqs", "body": "{oops", "messageId": "1"}]},
    "a table's": {"Records": [{"eventName": "REMOVE", "dynamodb": {"Keys": {"id": {"S": "x"}}}}]},
    "an API's": {"httpMethod": "POST", "path": "/", "headers": {}, "body": '{"id": "good"}'},
    "a huge one": {str(number): "x" * 100 for number in range(60_000)},
    "a deep one": {"a": {"b": {"c": {"d": [{"e": None}]}}}},
    "bytes": b"\xff\x00",
}


@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS.keys())
def test_whatever_the_event_is_what_is_due_runs(event: object, scene: Scene) -> None:
    # Given a task that is due
    scene.editor.add("note", due=timedelta(minutes=10), id="good")
    scene.clock.advance(timedelta(minutes=11))

    # When the Lambda is invoked with this event
    report = scene.worker.handler(event, CONTEXT)

    # Then the task has run, and the answer is what Lambda can carry
    assert scene.ran == ["good"]
    assert scene.editor.get("good").status is Status.DONE
    assert report["done"] == 1
    assert report["rings_at"] is None


def test_woken_for_nothing_it_does_nothing(scene: Scene) -> None:
    for _ in range(3):
        assert scene.worker.handler(None, CONTEXT)["done"] == 0
    assert scene.ran == []
    assert scene.editor.status().healthy


def test_with_hardly_any_time_left_it_still_gives_the_lanes_back(scene: Scene) -> None:
    # Given an invocation that is over before it began
    scene.editor.add("note", due=timedelta(minutes=10), id="good")
    scene.clock.advance(timedelta(minutes=11))
    over = cast("Any", SimpleNamespace(get_remaining_time_in_millis=lambda: 0))

    # When the Lambda is invoked
    report = scene.worker.handler({}, over)

    # Then nothing ran, and the rule rings for it again
    assert (report["done"], report["stopped_early"]) == (0, True)
    assert scene.editor.status().running == 0
    assert scene.editor.status().rings_at
    assert scene.worker.handler({}, CONTEXT)["done"] == 1
