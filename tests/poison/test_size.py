"""A payload at the size limit: added, failed with all that can be said of it, retried and done."""

import json
from datetime import timedelta

import boto3
import pytest

from duebell import Editor, Status, Worker
from duebell_infra.testing import InlinePool
from duebell_shared.backend import Backend
from duebell_shared.payloads.payload import MAX_BYTES
from duebell_shared.queue.items import MAX_ITEM, size_of
from duebell_shared.queue.places import lane_of
from tests.support import REGION, Clock

pytestmark = pytest.mark.moto

SOON = timedelta(minutes=10)

FULL = {
    "plain": "x" * (MAX_BYTES - 2),
    "four bytes a character": "𝄞" * ((MAX_BYTES - 4) // 4) + "xx",
}


def stored_bytes(id: str) -> int:
    """What DynamoDB counts of the item of this task."""
    table = boto3.client("dynamodb", region_name=REGION)
    pages = table.get_paginator("query").paginate(
        TableName="duebell",
        KeyConditionExpression="lane = :lane AND id = :id",
        ExpressionAttributeValues={":lane": {"S": str(lane_of(id, 4))}, ":id": {"S": id}},
    )
    return size_of(next(item for page in pages for item in page["Items"]))


@pytest.mark.parametrize("payload", FULL.values(), ids=FULL.keys())
def test_a_full_payload_goes_all_the_way_with_a_failure_on_top(
    payload: str, editor: Editor, backend: Backend, clock: Clock
) -> None:
    # Given the longest names and the largest payload that are allowed
    id, action = "𝄞" * 256, "ä" * 256
    assert len(json.dumps(payload, ensure_ascii=False).encode()) == MAX_BYTES
    editor.add(action, due=SOON, payload=payload, id=id)
    worker = Worker(backend=backend, pool=lambda _: InlinePool())
    seen: list[object] = []

    @worker.action(action, attempts=2)
    def act(payload: object) -> None:
        seen.append(payload)
        if len(seen) < 3:
            raise ValueError("\x00\U0001d11e" * 1_000_000)  # what takes the most room there is

    # When it fails, and fails for good
    clock.advance(2 * SOON)
    worker.run()
    assert editor.get(id).status is Status.SCHEDULED
    assert stored_bytes(id) < MAX_ITEM
    clock.advance(2 * SOON)
    worker.run()
    assert editor.get(id).status is Status.FAILED
    assert stored_bytes(id) < MAX_ITEM

    # Then it can be retried, and is done with what it was given
    editor.retry(id)
    clock.advance(2 * SOON)
    assert worker.run().done == 1
    assert seen == [payload] * 3
    assert editor.get(id).payload_dropped == MAX_BYTES
