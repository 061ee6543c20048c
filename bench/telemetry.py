"""The bytes of log and the metrics that a deployed worker gives CloudWatch. Both are paid for."""

import json
import logging
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO

import msgspec
from tests.support import Clock

from bench.queues import PAYLOAD
from duebell import Editor, Worker
from duebell_infra.testing import Bell, InlinePool, MemoryStore
from duebell_shared.backend import Backend
from duebell_shared.bell.bell import Rule
from duebell_shared.log_lines import JsonLines
from duebell_shared.settings import Settings
from duebell_worker.metrics import METRICS

__all__ = ["Telemetry", "measure"]

#: The tasks of a run that is long enough to tell the bytes of a task from those of the run.
_TASKS = 100


class Telemetry(msgspec.Struct, frozen=True, kw_only=True):
    """The lines of the log, metrics included.

    run_bytes, task_bytes          for a run besides its tasks, and for each of them
    fixed_metrics, action_metrics  how many metrics there are, and how many more for each action
    """

    run_bytes: int
    task_bytes: int
    fixed_metrics: int
    action_metrics: int


def measure() -> Telemetry:
    """Run tasks over a queue in memory, and look at the log."""
    one, many, of_two_actions = _logged(1), _logged(_TASKS + 1), _logged(2, actions=2)
    task_bytes = (_bytes(many) - _bytes(one)) / _TASKS
    action_metrics = len(_metrics(of_two_actions)) - len(_metrics(one))
    # Each part of the lateness is written in some hours, and billed then.
    seldom = {name for name in METRICS if name.startswith("Lateness")} - {name for name, *_ in _metrics(one)}
    return Telemetry(
        run_bytes=round(_bytes(one) - task_bytes),
        task_bytes=round(task_bytes),
        fixed_metrics=len(_metrics(one)) + len(seldom) - action_metrics,
        action_metrics=action_metrics,
    )


def _logged(tasks: int, *, actions: int = 1) -> list[str]:
    """The lines that a run writes which finds so many tasks due."""
    clock = Clock()
    rule = Rule("duebell", Bell().client, clock=clock, sleep=clock.sleep)
    backend = Backend(Settings(metrics=True), MemoryStore(), rule, clock=clock, sleep=clock.sleep)
    worker = Worker(backend=backend, pool=lambda _: InlinePool())
    for number in range(actions):
        worker.action(f"put_on_sale_{number}")(lambda: None)
    editor = Editor(backend=backend)
    for number in range(tasks):
        editor.add(
            f"put_on_sale_{number % actions}", due=clock.now, payload=PAYLOAD, id=f"sale-of-item-{number:06}"
        )
    clock.advance(timedelta(seconds=30))  # attempts of precision "minute" start late by some of the parts
    stream = StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger("duebell.worker")
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        worker.run()
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    return stream.getvalue().splitlines(keepends=True)


def _bytes(lines: list[str]) -> int:
    return sum(len(line.encode()) for line in lines)


def _metrics(lines: list[str]) -> set[tuple[str, ...]]:
    """The metrics, each with its set of dimensions: CloudWatch charges for every pair."""
    return {metric for line in lines for metric in _metrics_of(json.loads(line))}


def _metrics_of(line: dict[str, object]) -> Iterator[tuple[str, ...]]:
    about = line.get("_aws")
    for directive in about["CloudWatchMetrics"] if isinstance(about, dict) else ():
        for names in directive["Dimensions"]:
            dimensions = [str(line[name]) for name in names]
            for metric in directive["Metrics"]:
                yield (metric["Name"], *dimensions)
