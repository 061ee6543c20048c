"""The actions of the stack that the end-to-end tests run on. Bundled, so nothing of the tests is imported."""

import os
import time
from pathlib import Path
from typing import Any

from duebell import Abort, Retry, Snooze, Task, Worker

worker = Worker.from_env()


@worker.action("succeed")
def succeed(payload: dict[str, Any], task: Task) -> None:
    print(f"{task.id} says {payload.get('word', 'nothing')}")


@worker.action("fail_once", attempts=3)
def fail_once(payload: dict[str, Any], task: Task) -> None:
    if task.attempt == 1:
        raise Retry("the first attempt always fails", after=1)


@worker.action("snooze_once", attempts=1)
def snooze_once(payload: dict[str, Any], task: Task) -> None:
    """Snooze, and fail then."""
    if payload["page"] == 1:
        raise Snooze(5, payload={"page": 2})
    raise RuntimeError(f"{task.id} fails every time")


@worker.action("one_a_second", per_second=1)
def one_a_second(payload: dict[str, Any], task: Task) -> None:
    pass


@worker.action("tell")
def tell(name: str) -> None:
    """Tell what the worker's environment has under this name."""
    raise Abort(os.environ[name])


@worker.action("pass_gate")
def pass_gate(payload: dict[str, Any], task: Task) -> None:
    """Note the start in a file, and wait for the gate's file if there is one to wait for."""
    with Path(payload["starts"]).open("a") as starts:
        starts.write(f"{task.id} {os.getpid()}\n")
    while (gate := payload.get("gate")) and not Path(gate).exists():
        time.sleep(0.1)
