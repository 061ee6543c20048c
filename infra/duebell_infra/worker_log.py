"""The log of an embedded stack's worker, as lines for a terminal."""

import json
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

if TYPE_CHECKING:
    from mypy_boto3_logs import CloudWatchLogsClient

__all__ = ["WorkerLog", "readable"]

#: Milliseconds that each look goes back: lines of two runs may become visible out of order.
_OVERLAP = 10_000

#: Lambda's own lines about each invocation.
_FRAME = ("START RequestId:", "END RequestId:", "REPORT RequestId:", "INIT_START ")


class WorkerLog:
    """The worker's log group, read again and again."""

    def __init__(self, client: "CloudWatchLogsClient", group: str) -> None:
        self._client = client
        self._group = group
        self._since = time.time_ns() // 1_000_000
        self._seen: dict[str, int] = {}

    def new_lines(self) -> Iterator[str]:
        """The lines that were logged since the last look; none while the log cannot be read."""
        try:
            pages = self._client.get_paginator("filter_log_events").paginate(
                logGroupName=self._group, startTime=self._since
            )
            events = [event for page in pages for event in page["events"]]
        except (BotoCoreError, ClientError):
            return
        for event in sorted(events, key=lambda event: event["timestamp"]):
            # MiniStack leaves the id out at times; time, stream and message tell events apart as well.
            id = (
                event.get("eventId")
                or f"{event['timestamp']} {event.get('logStreamName')} {event['message']}"
            )
            if id in self._seen:
                continue
            self._seen[id] = event["timestamp"]
            message = event["message"].rstrip()
            if message and not message.startswith(_FRAME):
                yield readable(message, at=datetime.fromtimestamp(event["timestamp"] / 1000).astimezone())
        latest = max(self._seen.values(), default=0)
        self._since = max(self._since, latest - _OVERLAP)
        self._seen = {event: at for event, at in self._seen.items() if at >= self._since}


def readable(message: str, *, at: datetime) -> str:
    """A line of the worker's, which is JSON with an `event`, or of an action's, which is anything."""
    try:
        fields = json.loads(message)
    except ValueError:
        fields = None
    if not isinstance(fields, dict) or "event" not in fields:
        return f"{at:%H:%M:%S}        {_printable(message)}"
    event = fields.pop("event")
    level = fields.pop("level", "INFO")
    words = _TELLERS.get(event, _any_event)(fields)
    return f"{at:%H:%M:%S}  {event:<5} {_printable(words)}{'' if level == 'INFO' else f'  [{level}]'}"


def _task(fields: dict[str, Any]) -> str:
    late = fields.get("lateness_ms")
    facts = [
        f"attempt {fields.get('attempt', '?')}",
        *([] if late is None else [f"{late / 1000:.1f} s after it was due"]),
        *([] if not fields.get("failure") else [f"{fields['failure']}: {fields.get('message', '')}"]),
    ]
    return f"{fields.get('id')}  {fields.get('action')}: {fields.get('outcome')} ({', '.join(facts)})"


def _run(fields: dict[str, Any]) -> str:
    counts = [f"{fields[name]} {name}" for name in ("done", "retried", "failed") if fields.get(name)]
    rings = fields.get("rings_at")
    return (
        f"{', '.join(counts) or 'nothing was due'}; {f'next ring {rings}' if rings else 'the queue is empty'}"
    )


def _any_event(fields: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in fields.items())


_TELLERS: dict[str, Callable[[dict[str, Any]], str]] = {"task": _task, "run": _run}


def _printable(text: str) -> str:
    """The text without control characters, which an action may log and a terminal would obey."""
    return "".join(one if one.isprintable() or one == "\t" else repr(one)[1:-1] for one in text)
