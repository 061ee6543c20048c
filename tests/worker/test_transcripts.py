"""Runs log, measure and store this, scene by scene: see `transcripts`."""

import random
import re
from pathlib import Path
from typing import Any

import boto3
import msgspec
import pytest

import duebell
from duebell import DuebellError, Editor, Settings, Status, Task, Worker
from duebell_shared.backend import Backend
from duebell_worker import process
from tests import transcript
from tests.support import Clock
from tests.worker import other_runs, scene
from tests.worker.called import Called
from tests.worker.hooks import Hooks
from tests.worker.log_lines import Log
from tests.worker.scene import MINUTE, SECOND
from tests.worker.stage import Stage
from tests.worker.starting import Context


@pytest.mark.filterwarnings("ignore::duebell.UnknownAction", "ignore::duebell.DoubtfulPayload")
@pytest.mark.parametrize(
    "file", sorted(Path(__file__).parent.glob("transcripts/*")), ids=lambda file: file.stem
)
def test_a_scene(
    file: Path, *, session: boto3.Session, clock: Clock, stage: Stage, log: Log, request: Any
) -> None:
    first, *lines = re.findall(r"(?m)^[$#] .*$", file.read_text(encoding="utf-8"))
    settings = Settings.from_env(dict(one.split("=") for one in first.split()[1:]))
    called = Called()
    backend = called.by(Backend.connect(settings, session, clock=clock, sleep=clock.sleep))
    worker, editor = Worker(backend=backend, pool=stage, concurrency=4), Editor(backend=backend)
    aws, sleep, shown = Hooks(backend), stage.sleep, list[Any]()

    def has(name: str, **options: Any) -> None:
        @worker.action(name, **options)
        def act(payload: object, task: Task) -> object:
            return eval(payload, names, {"task": task}) if isinstance(payload, str) else None

    def fail(error: Exception) -> None:
        raise error

    def run(*, after: Any = 0 * SECOND, **options: Any) -> list[Any]:
        clock.advance(after)
        worker.run(**options)
        return tasks()

    def tasks() -> list[Any]:
        listed = [msgspec.to_builtins(task) for task in editor.list(status=list(Status)).tasks]
        changed = [task for task in listed if task not in shown]
        shown.extend(changed)
        return [{name: value for name, value in task.items() if value} for task in changed]

    def invoke(event: object = None, *, request: str = "", time: Any = 15 * MINUTE) -> str:
        return msgspec.json.encode(worker.handler(event, Context(clock, time, request=request))).decode()

    names = {name: getattr(duebell, name) for name in duebell.__all__}
    for given in (vars(scene), vars(other_runs), vars(process), locals()):
        names |= given
    now = f"{first}\n"
    for line in lines:
        random.seed(1)  # waits after failed attempts are random
        log.stream.truncate(log.stream.seek(0))
        try:
            answer = eval(line[2:], names) if line[0] == "$" else None
        except (DuebellError, PermissionError, TypeError, ValueError) as error:
            answer = f"{type(error).__name__}: {error}"
        told = answer if isinstance(answer, list) else [answer] if isinstance(answer, str) else []
        rows = [msgspec.json.encode(one).decode() for one in [*log.lines(), *told]]
        now += "".join(f"{row}\n" for row in [line, *rows])
    now = re.sub(r"127\.0\.0\.1:\d{2,}", "<endpoint>", transcript.masked(now))
    transcript.compare(file, re.sub(r"(?<=[a-z>])\.[0-9a-f]{8}\b", ".<try>", now))
