"""The worker's log lines as a person reads them."""

import json
from datetime import datetime

import pytest

from duebell_infra.worker_log import readable

AT = datetime(2026, 11, 21, 12, 0, 4).astimezone()

TASK = {"event": "task", "level": "INFO", "id": "sale-42", "action": "put_on_sale", "attempt": 1}


@pytest.mark.parametrize(
    ("message", "line"),
    [
        (
            json.dumps({**TASK, "outcome": "done", "lateness_ms": 6927}),
            "12:00:04  task  sale-42  put_on_sale: done (attempt 1, 6.9 s after it was due)",
        ),
        (
            json.dumps({**TASK, "level": "WARNING", "outcome": "failed", "failure": "E", "message": "why"}),
            "12:00:04  task  sale-42  put_on_sale: failed (attempt 1, E: why)  [WARNING]",
        ),
        (
            json.dumps({"event": "run", "level": "INFO", "done": 2, "failed": 1, "retried": 0}),
            "12:00:04  run   2 done, 1 failed; the queue is empty",
        ),
        (
            json.dumps({"event": "lease_lost", "level": "WARNING", "run": "r"}),
            "12:00:04  lease_lost run=r  [WARNING]",
        ),
        ("printed by an action", "12:00:04        printed by an action"),
        ('{"not": "ours"}', '12:00:04        {"not": "ours"}'),
        ("\x1b[2Jgone", "12:00:04        \\x1b[2Jgone"),
    ],
)
def test_a_line(message: str, line: str) -> None:
    assert readable(message, at=AT) == line
