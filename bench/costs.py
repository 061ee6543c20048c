"""Dollars for a million tasks, computed by the code of `duebell cost` from what this bench measures."""

import math
from collections.abc import Callable, Iterator
from datetime import timedelta

import msgspec

from bench.capacity import Path
from bench.figures import Figures
from duebell_editor.simulation import cost
from duebell_editor.simulation.cost import MONTH, PRICES, UNITS_FILE, Measured, Units, Usage
from duebell_shared.settings import Precision

__all__ = [
    "ALARMS",
    "ALONE",
    "BURST",
    "MEMORY_MB",
    "SCHEDULER",
    "SCHEDULER_WITH_TABLE",
    "Row",
    "idle_dollars",
    "measured_in",
    "memories",
    "rows",
    "save_units",
    "scheduler_cost",
    "snapshot_dollars",
    "state_machine",
]

#: The worker's memory as the templates have it.
MEMORY_MB = 512

#: The alarms that the templates make beside a dashboard; an intake queue has one more.
ALARMS = 8

#: Lambda polls a quiet queue with five readers, as the mapping has a maximum concurrency.
#: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
#: Assumed: each request waits for messages for the 20 seconds that SQS allows at most.
#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-queues.html
_POLLING_DOLLARS = 5 * (MONTH / timedelta(seconds=20)) / 1e6 * PRICES["request"].dollars

_MEMORIES = (256, 512, 1_024, 1_769)

_MILLION = 1_000_000
_HOUR, _MINUTE = timedelta(hours=1), timedelta(minutes=1)

#: The workloads of docs/compare.md.
ALONE, BURST = "once, 500 a day at random seconds", "once, 400 due at a time, an hour apart"

#: Patterns of due dates: a name, the tasks due at a time, the time between, and whether the tasks recur.
_CASES = (
    ("once, 1 due at a time, an hour apart", 1, _HOUR, False),
    (ALONE, 1, timedelta(days=1) / 500, False),
    ("once, 10 due at a time, an hour apart", 10, _HOUR, False),
    (BURST, 400, _HOUR, False),
    ("once, 1,000 due at a time, an hour apart", 1_000, _HOUR, False),
    ("an hourly task's occurrences", 1, _HOUR, True),
    ("of 1,000 hourly tasks, all at a time", 1_000, _HOUR, True),
    ("a minutely task's occurrences", 1, _MINUTE, True),
)


#: EventBridge Scheduler is compared twice: its API alone, and with a table to list and search tasks.
SCHEDULER, SCHEDULER_WITH_TABLE = "EventBridge Scheduler", "EventBridge Scheduler with a table"

#: Assumed: the time that is billed for an invocation of a warm Lambda that runs one task and no duebell.
_OTHERS_SECONDS = 0.005


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """Dollars for a million: of duebell with either precision, and of EventBridge Scheduler with a table."""

    what: str
    minute: cost.Cost
    second: cost.Cost
    with_table: cost.Cost

    @property
    def scheduler(self) -> cost.Cost:
        """EventBridge Scheduler's cost without a table."""
        return msgspec.structs.replace(self.with_table, dynamodb=0.0)


class AtMemory(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds that are billed for a cold start with a run of one, and dollars for a million of them."""

    memory_mb: int
    seconds: float
    dollars: float


def measured_in(figures: Figures) -> Measured | None:
    """The figures that costs are computed from; None if one of them was not measured."""
    capacity, told, waits = figures.capacity, figures.telemetry, figures.waiting
    start, memory = figures.cold_start, figures.memory
    if not (capacity and told and waits and start and memory):
        return None
    by_name = {path.name: _units(path) for path in capacity}
    return Measured(
        add=by_name["`add`, not the new head"],
        done=by_name["a task that is done: claim, outcome"],
        occurrence=by_name["an hourly task's occurrence, twenty kept on it"],
        run=by_name["a run, besides its tasks"],
        run_bytes=told.run_bytes,
        task_bytes=told.task_bytes,
        start_ms=round(start.median_ms("duebell"), 1),
        one_ms=round(start.median_ms("one"), 1),
        task_ms=memory.task_ms,
        waiting=cost.Waiting(
            runs=waits.runs, invocations=waits.invocations, reads=waits.reads, writes=waits.writes
        ),
    )


def save_units(figures: Figures) -> None:
    """Write the figures that `duebell cost` computes from."""
    if of := measured_in(figures):
        UNITS_FILE.write_bytes(msgspec.json.format(msgspec.json.encode(of), indent=1) + b"\n")


def rows(of: Measured) -> Iterator[Row]:
    """The costs of each pattern of due dates."""
    for what, at_a_time, every, recurs in _CASES:
        usage = Usage(tasks=_MILLION, at_a_time=at_a_time, every=every, recurs=recurs, memory_mb=MEMORY_MB)
        to_the_second = msgspec.structs.replace(usage, precision=Precision.SECOND)
        at = _at_random if what == ALONE else lambda compute, usage, of: compute(usage, of)
        yield Row(
            what=what,
            minute=at(cost.cost, usage, of),
            second=cost.cost(to_the_second, of),
            with_table=at(scheduler_cost, usage, of),
        )


def scheduler_cost(usage: Usage, of: Measured) -> cost.Cost:
    """The cost with EventBridge Scheduler, a Lambda that starts as quickly, and a table, which is `dynamodb`.

    Each task invokes the Lambda by itself; of those of one minute, the first starts a process. The table is
    for what its API cannot do: list by time, search, show what is in a task. It takes a put when a task is
    added and a delete when it has run, and no index.
    """
    tasks = usage.tasks / 1e6
    starting, cold = (
        cost.billed_seconds(usage.memory_mb, of.start_ms, services=1),
        usage.is_cold / usage.at_a_time,
    )
    seconds = cold * starting + (1 - cold) * _OTHERS_SECONDS
    writes = 0 if usage.recurs else 2
    return cost.Cost(
        dynamodb=tasks * writes * PRICES["write"].dollars,
        function=tasks * (cost.lambda_dollars(seconds, usage.memory_mb) + PRICES["invocation"].dollars),
        log=cost.log_dollars(usage.tasks * cost.INVOCATION_BYTES),
        others=tasks * PRICES["schedule"].dollars,
    )


def _at_random(compute: Callable[[Usage, Measured], cost.Cost], usage: Usage, of: Measured) -> cost.Cost:
    """The cost of tasks at random: some come so long after the one before that the process has ended."""
    share = math.exp(-cost.KEPT_WARM / usage.every)
    warm, cold = compute(usage, of), compute(msgspec.structs.replace(usage, every=_HOUR), of)
    parts = {
        name: (1 - share) * getattr(warm, name) + share * getattr(cold, name)
        for name in warm.__struct_fields__
    }
    return cost.Cost(**parts)


def state_machine() -> cost.Cost:
    """Step Functions: a standard workflow that waits and then acts steps into two states at least."""
    return cost.Cost(dynamodb=0.0, function=0.0, log=0.0, others=2 * PRICES["transition"].dollars)


def memories(of: Measured) -> Iterator[AtMemory]:
    """The cost of a cold start with a run of one task, at several sizes of memory."""
    for memory_mb in _MEMORIES:
        seconds = cost.billed_seconds(memory_mb, of.one_ms, calls=of.run.calls + of.done.calls)
        dollars = cost.lambda_dollars(seconds, memory_mb)
        yield AtMemory(memory_mb=memory_mb, seconds=seconds, dollars=dollars)


def _units(path: Path) -> Units:
    return Units(write=path.write_units, read=path.read_units, calls=sum(path.calls.values()))


def idle_dollars(*, alarms: bool, intake: bool, snapshot_mb: int | None) -> dict[str, float]:
    """Dollars a month that are paid even if nothing runs, by what they are for.

    alarms       whether there are alarms and a dashboard
    intake       whether there is an intake queue, which Lambda polls
    snapshot_mb  the worker's memory if it starts from a snapshot, of one version
    """
    count = ALARMS + (1 if intake else 0)
    watched = {"alarms": count * PRICES["alarm"].dollars, "dashboard": PRICES["dashboard"].dollars}
    return {
        **(watched if alarms else {}),
        **({"intake polling": _POLLING_DOLLARS} if intake else {}),
        **({"snapshot": snapshot_dollars(snapshot_mb)} if snapshot_mb else {}),
    }


def snapshot_dollars(memory_mb: int) -> float:
    """Dollars a month for the snapshot that Lambda keeps of one version of a function with this memory."""
    return PRICES["snapshot"].dollars * memory_mb / 1024 * MONTH.total_seconds() / 1e6
