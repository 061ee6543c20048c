"""A task or the bell, step by step: the calls to AWS that each step makes, over the SDK, and its result.

The files in `calls` have a line for each: the fields of the task, if any, and the steps. `+1h` lets time
pass. `!Operation=Code` has the next such call refused with this code, or answered with this HTTP status.
With `=lost` it takes effect and is not answered.
"""

import random
import re
import zlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from inspect import signature
from pathlib import Path
from typing import Any

import msgspec
import pytest
from botocore.exceptions import ReadTimeoutError
from msgspec.structs import replace

from duebell_editor.cli.options import duration
from duebell_shared.backend import Backend
from duebell_shared.bell.armer import LanesChanged
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.errors import DuebellError, TaskConflict
from duebell_shared.queue.changes import TaskWrite
from duebell_shared.queue.places import Past
from duebell_shared.queue.task_queue import Added, Policy, Queue, RuleSetter
from duebell_shared.settings import Settings
from duebell_shared.tasks.follow_up import Members, Then
from duebell_shared.tasks.history import Failure
from duebell_shared.tasks.new_task import changed_task, check_change, new_task
from duebell_shared.tasks.status import History, RetentionPolicy, Status
from duebell_shared.tasks.task import Task, queue_key
from tests.simulation.aws import Aws
from tests.simulation.weather import CALM
from tests.simulation.wire.clients import backend_over
from tests.simulation.wire.network import Answer, Network, Try, refusal
from tests.simulation.wire.refused import Refused
from tests.simulation.world import Process, World
from tests.support import NOON
from tests.transcript import compare, masked

FILES = sorted(Path(__file__).with_name("calls").iterdir())
HOUR, FAILED = timedelta(hours=1), Failure(type="ValueError", message="the card\nwas declined", module="shop")


class Recorded(Network):
    said = ""
    faults: list[str]

    def exchange(self, process: Process, sent: Try) -> Answer:
        self.said += f"  {sent.operation} {legible(sent.request)}\n"
        fault = next((one for one in self.faults if one.startswith(f"{sent.operation}=")), "")
        if fault:
            self.faults.remove(fault)
        code = fault.partition("=")[2]
        if code and code != "lost":
            return refusal(Refused(code, "no", status=int(code) if code.isdigit() else 400))
        answer = super().exchange(process, sent)
        if code:
            raise ReadTimeoutError(endpoint_url=f"https://{sent.service}.example")
        return answer


class Alone(Process):
    def sleep(self, seconds: float) -> None:
        self.world.now += timedelta(seconds=round(seconds, 1))


def legible(request: Mapping[str, Any]) -> str:
    """The request, with the names and values of its expressions in their places."""
    rest = dict(request)
    names = {**rest.pop("ExpressionAttributeNames", {}), **rest.pop("ExpressionAttributeValues", {})}
    for key, text in rest.items():
        if key.endswith("Expression"):
            rest[key] = re.sub(r"[#:]\w+", lambda one: written(names.get(one[0], one[0])), text)
    return written(rest)


def written(value: object) -> str:
    def unpacked(value: Any) -> Any:
        if isinstance(value, msgspec.Struct):  # without its defaults: a further field changes no other line
            rows = ((row, getattr(value, row.name)) for row in msgspec.structs.fields(value))
            value = {row.name: one for row, one in rows if one != row.default}
        if isinstance(value, dict):
            return {str(key): unpacked(one) for key, one in value.items()}
        if isinstance(value, bytes) and value.startswith(b"{"):
            return msgspec.json.decode(value)
        if isinstance(value, bytes):
            is_entries = not value.startswith(b"x")
            text = zlib.decompress(value[is_entries:], wbits=-15 if is_entries else 15)
            return msgspec.msgpack.decode(text) if is_entries else msgspec.json.decode(text)
        return [unpacked(one) for one in value] if isinstance(value, (list, tuple)) else value

    text = msgspec.json.encode(unpacked(value), enc_hook=str, order="sorted").decode()
    return text.replace('\\"', "").replace('"', "")


def parsed(name: str, value: Any) -> Any:
    if name == "dues":
        return {int(lane): NOON + duration(after) for lane, after in value.items()}
    if name in {"due", "start", "end"}:
        return datetime.fromisoformat(value)
    makers: dict[str, Any] = {"then": Then, "members": Members, "policy": Policy.of}
    if made := makers.get(name):
        return made(**{one: parsed(one, part) for one, part in value.items()})
    if name in {"kind", "last"} and isinstance(value, str):
        return Past(value)
    return duration(value[1:]) if str(value).startswith("+") else value


def play(line: str, played: set[str], log: pytest.LogCaptureFixture) -> str:
    """The calls and results of the steps of this line, but for those that an earlier line begins with."""
    random.seed(1)
    world, settings = World(1), Settings(function="duebell", lanes=2)
    network = Recorded(Aws(world, CALM, lambda *_: None), settings)
    network.faults = []
    backend = backend_over(network, Alone(world, "one"), settings)
    task: Task | None = None
    so_far = ""
    for word in re.findall(r"[^\s:]+(?::\{.*?\}(?= |$))?", line):
        so_far += f" {word}"
        name, _, more = word.partition(":")
        given = {key: parsed(key, value) for key, value in msgspec.json.decode(more or "{}").items()}
        if word[0] in "+!":
            if word[0] == "!":
                network.faults.append(word[1:])
            else:
                world.now += duration(word[1:])
            continue
        network.said += f" {word}\n"
        try:
            task, result = step(backend, task, name, given)
        except (DuebellError, LanesChanged) as error:
            result = f"{type(error).__name__}: {error}"
        logged = (f"  {one.levelname} {one.name}: {one.getMessage()}\n" for one in log.records)
        network.said += "".join((*logged, f"  {written(result)}\n"))
        log.clear()
        is_saved = result is True and hasattr(task, name) and "ItemCollection" not in line
        assert not is_saved or task in network.tasks.values()
        if so_far in played:
            network.said = ""
        played.add(so_far)
        if task is None and name == "new":
            break
    return masked(network.said)


def step(backend: Backend, task: Task | None, name: str, given: dict[str, Any]) -> tuple[Task | None, object]:
    """The task after this step, and the result."""
    now, store = backend.clock(), backend.store
    known: dict[str, Any] = {"now": now, "after": now, "task": task, "failure": FAILED, "within": HOUR}
    known |= dict.fromkeys(("due", "at", "until", "minute"), now + HOUR) | {"dues": {0: now + HOUR}}
    known |= {"lane": 0, "id": "one", "prefix": "o", "run": "run", "reservation": "r", "kind": Past.DONE}
    known |= {"lanes": 2, "most": 2, "count": 2, "end": Status.FAILED, "ends": [Status.DONE, Status.FAILED]}
    known |= {"token": "t", "recurrence": task and task.recurrence, "policy": Policy(), "ids": ["one"]}
    known |= {"conflict": TaskConflict("another has it")}
    known |= {"keep": RetentionPolicy(history=History(given.pop("history", "all")))}
    if task:
        batch = replace(task, id="all", batch=None, status=Status.BLOCKED, members=Members())
        known |= {"batch": batch, "tasks": [task], "key": queue_key(task), "keys": [queue_key(task)]}
        other = replace(task, rev=task.rev + 1, priority=7)
        known |= {"status": task.status, "changes": [(task, other)], "writes": [TaskWrite(task, other)]}
    match name:
        case "new":
            due = {} if "schedule" in given else {"due": now + HOUR}
            return new_task(**{"id": "one", "action": "act", "now": now, **due, **given}), None
        case "blocked" if task:
            return replace(task, status=Status.BLOCKED, queued=None, **given), None
        case "record":
            made = msgspec.convert({"lanes": [{}, {}], **given}, ArmingRecord)
            return task, store.swap_record(None, made)
        case "changed" if task:
            change: Any = given
            check_change(change)
            saved = store.save(task, new := changed_task(task, change, now=now))
            return new, saved
        case "start_run_if_late":
            known["record"] = store.read_record()
    queue = Queue(backend)
    owners = {"read": (backend.rule,), "queued": (store,)}.get(
        name, (task, store, backend.armer, backend.rule, queue, RuleSetter(backend, queue))
    )
    found: Any = next(getattr(one, name) for one in owners if hasattr(one, name))
    chosen = (
        {one: known[one] for one in signature(found).parameters if one in known} if callable(found) else {}
    )
    result = found(**chosen | given) if callable(found) else found
    if isinstance(result, Task) and task and hasattr(task, name):
        kept = result if result.is_kept(known["keep"]) else None
        saved = store.save(task, kept)
        return kept if saved else task, saved
    there = result.task if isinstance(result, Added) else result if isinstance(result, Task) else task
    return there, list(result) if hasattr(result, "__next__") else result


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_step_makes_these_calls_and_has_this_result(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="duebell")
    played: set[str] = set()
    lines = re.findall(r"(?m)^\$ (.*)$", file.read_text(encoding="utf-8"))
    compare(file, "".join(f"$ {line}\n{play(line, played, caplog)}" for line in lines))
