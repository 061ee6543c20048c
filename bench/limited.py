"""The cost of limits in a run: for an action that has none, while another has some; and for one that has."""

import time
from datetime import UTC, datetime, timedelta

import boto3
import msgspec
from tests.support import create_rule, create_table

from bench.queues import bare_client, fill, item_of
from bench.timing import Ratio
from bench.words import LIMITED
from duebell import Editor, Settings, Worker
from duebell_shared.limits.limits import Semaphore

__all__ = ["LIMIT", "MORE_CALLS", "TASKS", "Limited", "Way", "measure", "section"]

#: The processor time of a task without limits while another action has some, in multiples of that where none
#: has. They do the same, so what is above one is the machine's.
LIMIT = 1.1

#: The calls of a run differ by how its threads meet: several outcomes go in one call.
MORE_CALLS = 40

TASKS = 2_000

_ROUNDS = 5
_THREADS = 16
_NAME = "limited"
_PAST = datetime(2026, 1, 1, tzinfo=UTC)

#: Limits of the action that is drained, which hold nothing back, and of another one.
_WAYS: dict[str, tuple[dict[str, float], dict[str, float]]] = {
    "none": ({}, {}),
    "other": ({}, {"at_most": 5, "per_second": 10}),
    "rate": ({"per_second": 1_000}, {}),
    "both": ({"at_most": 10_000, "per_second": 1_000}, {}),
}


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """One way to drain the tasks, by rounds.

    rates   tasks a second
    cpu_us  processor time of a task, in microseconds
    calls   calls to DynamoDB, of the whole run
    writes  write units of the action's semaphore, of the whole run
    held    how many tasks were put back, which costs 4 write units each
    """

    rates: list[float]
    cpu_us: list[float]
    calls: list[int]
    writes: list[int]
    held: list[int]


class Limited(msgspec.Struct, frozen=True, kw_only=True):
    """The same due tasks of one action, drained in each way. `ways` are by name: none, other, rate, both."""

    tasks: int
    ways: dict[str, Way]

    def over_none(self, way: str) -> Ratio:
        """The processor time of a task, in multiples of that where no action has limits."""
        return Ratio.of(self.ways[way].cpu_us, self.ways["none"].cpu_us)

    def rate_over_none(self, way: str) -> Ratio:
        """The tasks a second, in multiples of those where no action has limits."""
        return Ratio.of(self.ways[way].rates, self.ways["none"].rates)


def measure(session: boto3.Session, *, tasks: int = TASKS, rounds: int = _ROUNDS) -> Limited:
    """Drain queues that are filled anew, each way in turn."""
    made = {name: Way(rates=[], cpu_us=[], calls=[], writes=[], held=[]) for name in _WAYS}
    calls = 0

    def count(**_: object) -> None:
        nonlocal calls
        calls += 1

    session.events.register("before-call.dynamodb", count)
    names = list(_WAYS)
    for number in range(rounds):
        for turn in range(len(names)):
            name = names[(number + turn) % len(names)]
            worker = _worker(session, tasks, name)
            way, calls = made[name], 0
            begin, cpu = time.perf_counter(), time.process_time()
            report = worker.run(time_left=timedelta(minutes=10))
            way.cpu_us.append((time.process_time() - cpu) / tasks * 1e6)
            way.rates.append(tasks / (time.perf_counter() - begin))
            way.calls.append(calls)
            way.held.append(report.limited)
            semaphore = worker.backend.store.read(Semaphore, "act")
            way.writes.append(semaphore.rev if semaphore else 0)
            if report.done != tasks:
                raise RuntimeError(f"{name}: {report.done} of {tasks} are done")
            session.client("dynamodb").delete_table(TableName=_NAME)
    session.events.unregister("before-call.dynamodb", count)
    return Limited(tasks=tasks, ways=made)


def _worker(session: boto3.Session, tasks: int, way: str) -> Worker:
    """A worker that is to drain so many tasks of the action `act`, limited in this way."""
    create_table(session, _NAME)
    create_rule(session, _NAME)
    settings = Settings(table=_NAME, rule=_NAME)
    Editor(settings, session=session).ensure_armed()
    items = (item_of(f"task-{number}", _PAST + timedelta(milliseconds=number)) for number in range(tasks))
    fill(bare_client(session), [_NAME], items)
    worker = Worker(settings, session=session, concurrency=_THREADS)
    mine, others = _WAYS[way]
    for name, limit in (("act", mine), ("other", others)):
        at_most = limit.get("at_most")
        worker.action(
            name, at_most=None if at_most is None else int(at_most), per_second=limit.get("per_second")
        )(lambda: None)
    return worker


def section(measured: Limited) -> str:
    """The section of the page."""
    words = {
        "none": "no action has limits",
        "other": "another action has limits",
        "rate": "it has a rate, which holds nothing back",
        "both": "it has a rate and a number at a time, which hold nothing back",
    }
    lines = [LIMITED.format(tasks=f"{measured.tasks:,}", limit=LIMIT)]
    lines += [
        "| | processor time, µs a task | times none | times the rate of none | calls "
        "| semaphore, write units | put back |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, way in measured.ways.items():
        cpu, calls, writes, held = (_middle(each) for each in (way.cpu_us, way.calls, way.writes, way.held))
        ratios = ("", "") if name == "none" else (measured.over_none(name), measured.rate_over_none(name))
        row = (words[name], f"{cpu:.0f}", *ratios, f"{calls:,.0f}", f"{writes:,.0f}", f"{held:,.0f}")
        lines.append(f"| {' | '.join(map(str, row))} |")
    return "\n".join([*lines, ""])


def _middle(column: list[float] | list[int]) -> float:
    return sorted(column)[len(column) // 2]
