"""The worker's log lines as a person reads them."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from duebell_infra.local.worker_log import WorkerLog, readable

AT = datetime(2026, 11, 21, 12, 0, 4).astimezone()

#: Three seconds before it came.
OWN = datetime(2026, 11, 21, 12, 0, 1).astimezone().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
RINGS = datetime(2026, 12, 24, 18, 0).astimezone().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")

TASK = {"event": "task", "level": "INFO", "id": "sale-42", "action": "put_on_sale", "attempt": 1}


@pytest.mark.parametrize(
    ("message", "line"),
    [
        (
            json.dumps({**TASK, "timestamp": OWN, "requestId": "r", "outcome": "done", "lateness_ms": 6927}),
            "12:00:01  task  sale-42  put_on_sale: done (attempt 1, 6.9 s after it was due)",
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
            json.dumps({"event": "run", "level": "INFO", "done": 0, "rings_at": RINGS}),
            "12:00:04  run   nothing was due; rings by 2026-12-24 18:00",
        ),
        (
            # A deployment's call, before it adds what the code declares: the ring it knows may be outdated
            json.dumps({"event": "run", "level": "INFO", "lanes": 0, "done": 0, "rings_at": RINGS}),
            "12:00:04  run   only set the rule",
        ),
        (
            json.dumps({"event": "lease_lost", "level": "WARNING", "run": "r", "requestId": "q"}),
            "12:00:04  lease_lost run=r  [WARNING]",
        ),
        (f"[INFO]\t{OWN}\trequest\tlogged\tby an action", "12:00:01        logged\tby an action"),
        (f"[ERROR]\t{OWN}\tNone\toh", "12:00:01        oh  [ERROR]"),
        (
            json.dumps({"timestamp": OWN, "level": "INFO", "message": "in JSON", "logger": "sales"}),
            "12:00:01        in JSON",
        ),
        (
            json.dumps({"level": "ERROR", "message": "m", "traceback": "Traceback\n  why\x1b"}),
            "12:00:04        m\n                Traceback\n                  why\\x1b  [ERROR]",
        ),
        ("printed by an action", "12:00:04        printed by an action"),
        ('{"not": "ours"}', '12:00:04        {"not": "ours"}'),
        ('{"level": 3}', '12:00:04        {"level": 3}'),
        ('{"level": "INFO", "timestamp": "soon", "event": "odd"}', "12:00:04  odd   "),
        ("\x1b[2Jgone", "12:00:04        \\x1b[2Jgone"),
    ],
)
def test_a_line(message: str, line: str) -> None:
    assert readable(message, at=AT) == line


def test_lines_are_read_once_and_whole(tmp_path: Path) -> None:
    file = tmp_path / "worker.log"
    log = WorkerLog(file)
    assert list(log.new_lines()) == []

    came = AT.isoformat()
    with file.open("ab", buffering=0) as writing:
        writing.write(f"{came} one\n{came} \n{came} tw".encode())
        assert list(log.new_lines()) == ["12:00:04        one"]
        assert list(log.new_lines()) == []
        writing.write(b"o\xff\n")
        assert list(log.new_lines()) == ["12:00:04        two\ufffd"]
