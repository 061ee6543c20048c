"""A DynamoDB, an EventBridge and an SQS that answer at once, or after a while as if they were far away, in a
process of their own: what is left is the client's part.

It keeps the records, which of its tasks are done and how many messages came, and checks no condition: it is
for one editor, or for one worker that drains a queue of so many due tasks."""

import asyncio
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any

from bench.queues import LANES, item_of
from duebell_infra.local.ministack import HOST, REGION, free_port
from duebell_shared.bell.expression import SENTINEL
from duebell_shared.instants import render
from duebell_shared.queue.records import ARMING, WORKER

__all__ = ["QUEUE", "environment_of", "stub"]

#: The name of the queue of SQS.
QUEUE = "messages"

_DUE = datetime(2026, 1, 1, tzinfo=UTC)

_READY = "ready"


@contextmanager
def stub(tasks: int = 0, *, call_s: float = 0.0) -> Iterator[str]:
    """A stub with so many due tasks in its queue; its endpoint, until the context is left.

    call_s  seconds from a call to its answer; as many calls as there are connections wait at a time
    """
    port = free_port()
    arguments = [str(port), str(tasks), str(call_s)]
    with subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "bench.stub", *arguments], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            if process.stdout is None or process.stdout.readline().strip() != _READY:
                raise RuntimeError("the stub did not start")
            yield f"http://{HOST}:{port}"
        finally:
            process.terminate()


def environment_of(endpoint: str) -> dict[str, str]:
    """The environment of a process whose clients call the stub at this endpoint."""
    return {
        "AWS_ACCESS_KEY_ID": "stub",
        "AWS_SECRET_ACCESS_KEY": "stub",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": endpoint,
        "PATH": os.environ["PATH"],
    }


class _Queue:
    """The records and tasks of the stub, and its answers by the name of the call."""

    def __init__(self, tasks: int) -> None:
        self._records: dict[str, dict[str, Any]] = {}
        self._template = item_of("task", _DUE)
        self._lanes: list[dict[str, dict[str, Any]]] = [{} for _ in range(LANES)]
        self._running: set[str] = set()
        self._messages = 0
        for number in range(tasks):
            key = {"lane": {"S": str(number % LANES)}, "id": {"S": f"task-{number:07}"}}
            self._lanes[number % LANES][key["id"]["S"]] = {**key, "queued": {"S": render(_DUE)}}
        self.answers: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "DynamoDB_20120810.PutItem": self._put,
            "DynamoDB_20120810.GetItem": self._get,
            "DynamoDB_20120810.Query": self._query,
            "DynamoDB_20120810.UpdateItem": self._update,
            "DynamoDB_20120810.BatchExecuteStatement": self._execute,
            "AWSEvents.DescribeRule": lambda _: {"State": "ENABLED", "ScheduleExpression": SENTINEL},
            "AWSEvents.PutRule": lambda _: {},
            "AmazonSQS.SendMessage": self._send,
            "AmazonSQS.SendMessageBatch": self._send,
            "AmazonSQS.GetQueueAttributes": self._queue,
        }

    def _put(self, asked: dict[str, Any]) -> dict[str, Any]:
        if (name := asked["Item"]["lane"]["S"]) in {ARMING, WORKER}:
            self._records[name] = asked["Item"]
        return {}

    def _get(self, asked: dict[str, Any]) -> dict[str, Any]:
        record = self._records.get(asked["Key"]["lane"]["S"])
        return {"Item": record} if record else {}

    def _query(self, asked: dict[str, Any]) -> dict[str, Any]:
        values = [value["S"] for value in asked["ExpressionAttributeValues"].values()]
        lane = next(int(value) for value in values if len(value) <= 2)  # noqa: PLR2004 (others are times)
        waiting = self._lanes[lane] if lane < LANES else {}
        after = asked.get("ExclusiveStartKey", {}).get("id", {}).get("S", "")
        rest = (key for id, key in waiting.items() if id > after)
        page = list(itertools.islice(rest, asked.get("Limit")))
        more = {"LastEvaluatedKey": page[-1]} if len(page) == asked.get("Limit") else {}
        return {"Items": page, "Count": len(page), "ScannedCount": len(page), **more}

    def _update(self, asked: dict[str, Any]) -> dict[str, Any]:
        return {"Attributes": self._changed(asked["Key"])}

    def _execute(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Updates in PartiQL, whose keys are the first parameters behind WHERE."""
        answers = []
        for each in asked["Statements"]:
            statement, _, _ = each["Statement"].partition(" WHERE ")
            lane, id, *_ = each["Parameters"][statement.count("?") :]
            item = self._changed({"lane": lane, "id": id})
            answers.append({"Item": item} if "RETURNING" in each["Statement"] else {})
        return {"Responses": answers}

    def _send(self, asked: dict[str, Any]) -> dict[str, Any]:
        ids = [each["Id"] for each in asked.get("Entries", [{"Id": "alone"}])]
        self._messages += len(ids)
        return {"Successful": [{"Id": id, "MessageId": id, "MD5OfMessageBody": ""} for id in ids]}

    def _queue(self, _: dict[str, Any]) -> dict[str, Any]:
        arn = f"arn:aws:sqs:{REGION}:000000000000:{QUEUE}"
        return {"Attributes": {"QueueArn": arn, "ApproximateNumberOfMessages": str(self._messages)}}

    def _changed(self, key: dict[str, Any]) -> dict[str, Any]:
        """The claim, which brings the task; then the outcome, which takes it out of the queue."""
        id = key["id"]["S"]
        if id in self._running:
            self._running.remove(id)
            del self._lanes[int(key["lane"]["S"])][id]
        else:
            self._running.add(id)
        changed = {"status": {"S": "running"}, "attempt": {"N": "1"}, "rev": {"N": "2"}}
        return {**self._template, **key, **changed}


class _Connection(asyncio.Protocol):
    """As much of HTTP as the SDK needs."""

    def __init__(self, queue: _Queue, call_s: float) -> None:
        self._queue = queue
        self._call_s = call_s
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            lines = self._received[:end].decode("latin-1").split("\r\n")[1:]
            headers = {
                name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
            }
            size = end + 4 + int(headers.get("content-length", 0))
            if len(self._received) < size:
                return
            body, self._received = self._received[end + 4 : size], self._received[size:]
            self._answer(headers["x-amz-target"], json.loads(body))

    def _answer(self, target: str, asked: dict[str, Any]) -> None:
        answer = self._queue.answers.get(target)
        status, content = "200 OK", {}
        if answer:
            content = answer(asked)
        else:
            status, content = (
                "400 Bad Request",
                {"__type": "NotPlayed", "message": f"the stub has no {target}"},
            )
        body = json.dumps(content).encode()
        lines = (
            f"HTTP/1.1 {status}",
            "Content-Type: application/x-amz-json-1.0",
            f"Content-Length: {len(body)}",
        )
        head = "\r\n".join(lines) + "\r\n\r\n"
        write = partial(self._transport.write, head.encode() + body)
        if self._call_s:
            asyncio.get_running_loop().call_later(self._call_s, write)
        else:
            write()


async def _serve(port: int, tasks: int, call_s: float) -> None:
    queue = _Queue(tasks)
    server = await asyncio.get_running_loop().create_server(lambda: _Connection(queue, call_s), HOST, port)
    print(_READY, flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
