"""Reads of the queue are strongly consistent, and none reads a lane through: moto would not show it."""

import json
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import boto3
import pytest

from duebell import Editor, Worker
from duebell_editor.listing.history import past_timeline
from duebell_editor.listing.timeline import Step, timeline
from duebell_infra.testing import InlinePool
from duebell_shared.backend import Backend
from duebell_shared.queue.records import WORKER
from tests.support import Clock


@pytest.fixture
def reads(session: boto3.Session) -> list[tuple[str, bool]]:
    """The reads that are made through the session: of what, and whether it is consistent."""
    reads: list[tuple[str, bool]] = []

    def note(model: Any, params: dict[str, Any], **_: Any) -> None:
        if model.name in {"GetItem", "Query", "BatchGetItem", "Scan"}:
            body = json.loads(params["body"])
            asked = list(body["RequestItems"].values()) if "RequestItems" in body else [body]
            index = f" of {body['IndexName']}" if "IndexName" in body else ""
            if body.get("Key", {}).get("id") == {"S": WORKER}:
                return  # may be a second old: it is read again before a refusal
            reads.append((model.name + index, all(each.get("ConsistentRead") is True for each in asked)))

    session.events.register("before-call.dynamodb", note)
    return reads


def test_every_read_is_consistent_and_none_is_a_scan(
    reads: list[tuple[str, bool]], editor: Editor, backend: Backend, clock: Clock
) -> None:
    # Given all that an editor and a worker read
    worker = Worker(backend=backend, pool=lambda _: InlinePool())
    worker.action("act", attempts=1)(lambda: None)
    for id in ("a", "b", "c"):
        editor.add("act", due=timedelta(minutes=10), id=id)
    editor.list()
    editor.move("a", due=timedelta(minutes=5))
    editor.status(thorough=True)
    clock.advance(timedelta(minutes=20))
    worker.run()
    editor.list(status=["done", "failed", "cancelled", "expired", "paused"], latest_first=True)
    past_timeline(editor.queue, clock.now - timedelta(days=1), Step.HOUR, 25, zone=ZoneInfo("UTC"))
    timeline(editor.queue, clock.now, Step.DAY, 9, zone=ZoneInfo("UTC"))
    assert list(editor.export_tasks())
    editor.ensure_armed()

    # Then each read of what waits sees what was written before it, and a query is of an index
    consistent = {"GetItem", "BatchGetItem", "Query of due-index"}
    assert {read for read, _ in reads} == {*consistent, "Query of past-index"}
    assert all(is_consistent for read, is_consistent in reads if read in consistent)
