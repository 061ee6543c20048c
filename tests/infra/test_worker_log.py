"""The worker's log on this machine: copied line by line as it comes, and shown as a person reads it."""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import pytest

from duebell_infra.local.ministack_child import _copy_lines
from duebell_infra.local.worker_log import WorkerLog, readable

AT = datetime(2026, 11, 21, 12, 0, 4).astimezone()

#: Three seconds before it came.
OWN = datetime(2026, 11, 21, 12, 0, 1).astimezone().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")

TASK = {"event": "task", "level": "INFO", "id": "sale-42", "action": "put_on_sale", "attempt": 1}


@pytest.mark.parametrize(
    ("message", "line"),
    [
        (
            json.dumps({**TASK, "timestamp": OWN, "requestId": "r", "outcome": "done"}),
            "12:00:01  task  id=sale-42 action=put_on_sale attempt=1 outcome=done",
        ),
        (
            json.dumps({"event": "lease_lost", "level": "WARNING", "run": "r", "requestId": "q"}),
            "12:00:04  lease_lost run=r  [WARNING]",
        ),
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


def test_a_ministack_that_keeps_lines_elsewhere_is_told_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ministack.core.lambda_runtime", ModuleType("other"))
    with (tmp_path / "worker.log").open("a") as log:
        _copy_lines(log)
    assert "shows the worker's log only in CloudWatch Logs" in (tmp_path / "worker.log").read_text()
