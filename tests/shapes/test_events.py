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
    "a number": 0,
    "a list": [1, [2]],
    "a rule's": {
        "source": "aws.events",
        "detail-type": "Scheduled Event",
        "resources": ["arn"],
        "detail": {},
    },
    "a queue's": {"Records": [{"eventSource": "aws:sqs", "body": "{oops", "messageId": "1"}]},
    "an API's": {"httpMethod": "POST", "path": "/", "headers": {}, "body": '{"id": "good"}'},
    "a huge one": {str(number): "x" * 100 for number in range(60_000)},
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
