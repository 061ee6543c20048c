"""Writes docs/performance.md from the figures. Its words are here, so that they are kept beside what they
explain."""

from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from statistics import median

from bench import (
    adding,
    capacity,
    client_cpu,
    cold_start,
    command_line,
    costs,
    delivering,
    draining,
    lateness,
    limited,
    looking,
    many,
    memory,
    monthly,
    priorities,
    schedules,
    waiting,
)
from bench.costs import ALARMS, SCHEDULER, SCHEDULER_WITH_TABLE, idle_dollars, snapshot_dollars
from bench.figures import Figures
from bench.words import (
    ADDING,
    CALLS,
    CLIENT,
    COLD_START,
    COMMAND_LINE,
    CONFIG,
    COSTS,
    DELIVERING,
    DRAINING,
    INTRODUCTION,
    LATENESS,
    LOOKING,
    MANY,
    MEMORIES,
    MEMORY,
    SCHEDULES,
    SIMULATED,
    SNAPSTART,
    STANDING,
    WAITING,
    WATCHING,
)
from duebell_editor.simulation.cost import CALL_SECONDS, PRICES, billed_seconds

__all__ = ["PAGE", "capacity_table", "render"]

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"


def render(figures: Figures) -> str:
    """The page, with the parts that were measured."""
    sections: list[tuple[object, Callable[[Figures], Iterator[str]]]] = [
        (figures.adding, _adding),
        (figures.many, _many),
        (figures.draining, _draining),
        (figures.limited, _limited),
        (figures.delivering, _delivering),
        (figures.looking, _looking),
        (figures.capacity, _capacity),
        (costs.measured_in(figures), _costs),
        (figures.telemetry, _standing),
        (figures.telemetry, _watching),
        (figures.waiting, _waiting),
        (figures.capacity and figures.waiting, _config),
        (figures.capacity and figures.telemetry, _prices),
        (figures.simulated, _lateness),
        (figures.client_cpu, _client_cpu),
        (figures.priorities, lambda figures: iter([priorities.section(figures.priorities or [])])),
        (figures.memory, _memory),
        (figures.cold_start, _cold_start),
        (figures.command_line, _command_line),
        (figures.schedules, _schedules),
    ]
    written = [line for measured, section in sections if measured for line in section(figures)]
    return "\n".join([INTRODUCTION, *_measured(figures), *written]).rstrip() + "\n"


def capacity_table(paths: list[capacity.Path]) -> str:
    """Calls and units of each path, as the page has them."""
    rows = [
        f"| {path.name} | {_calls(path)} | {path.write_units:g} | {path.read_units:g} |" for path in paths
    ]
    return "\n".join(["| | calls | write units | read units |", "|---|---|---|---|", *rows])


def _calls(path: capacity.Path) -> str:
    calls = sorted(path.calls.items())
    return ", ".join(name if times == 1 else f"{times:g} {name}" for name, times in calls)


def _measured(figures: Figures) -> Iterator[str]:
    parts = sorted(figures.measured.items(), key=lambda part: part[1])
    for where, those in groupby(parts, key=lambda part: part[1]):
        names = ", ".join(name.replace("_", " ") for name, _ in those)
        yield f"- {names}: {where}"
    yield ""


def _adding(figures: Figures) -> Iterator[str]:
    sizes = figures.adding or []
    yield ADDING.format(limit=adding.LIMIT, growth_limit=adding.GROWTH_LIMIT)
    yield (
        "| queued | duebell, ms | floor, ms | times the floor | the article's, ms | times ours | "
        "create_schedule, ms |"
    )
    yield "|---|---|---|---|---|---|---|"
    for each in sizes:
        ours, floor, article, scheduler = (
            f"{each.rounds.median_ms(name):,.1f}" for name in ("duebell", "floor", "article", "scheduler")
        )
        times = f"{each.article_over_ours.median:,.0f}"
        figures_of_it = (ours, floor, each.over_floor, article, times, scheduler)
        yield f"| {each.queued:,} | {' | '.join(map(str, figures_of_it))} |"
    yield (
        f"\nFrom {sizes[0].queued:,} to {sizes[-1].queued:,} tasks, what an add takes in floors grows "
        f"{adding.growth(sizes):.2f} times; {adding.GROWTH_LIMIT} is the limit.\n"
    )


def _many(figures: Figures) -> Iterator[str]:
    if figures.many:
        each = {name: f"{figures.many.rounds.median_ms(name):.2f}" for name in figures.many.rounds.us}
        yield MANY.format(
            tasks=f"{many.TASKS:,}",
            ours=each["add_many"],
            bare=each["put_item"],
            gain=figures.many.gain,
            limit=f"{many.LIMIT:.0f}",
        )


def _delivering(figures: Figures) -> Iterator[str]:
    if measured := figures.delivering:
        yield DELIVERING.format(
            tasks=measured.tasks,
            call_ms=CALL_SECONDS * 1000,
            remote=measured.remote,
            remote_rate=median(measured.remote.in_batches),
            remote_calls=median(measured.remote.calls),
            emulated=measured.emulated,
            emulated_rate=median(measured.emulated.in_batches),
            limit=delivering.LIMIT,
        )


def _limited(figures: Figures) -> Iterator[str]:
    if figures.limited:
        yield limited.section(figures.limited)


def _looking(figures: Figures) -> Iterator[str]:
    if figures.looking:
        yield LOOKING.format(tasks=f"{figures.looking.tasks:,}", limit=looking.LIMIT)
        yield "| | calls | keys and items read | of an empty queue, calls |"
        yield "|---|---|---|---|"
        for full, empty in zip(figures.looking.full, figures.looking.empty, strict=True):
            yield f"| {full.name} | {full.total} | {full.read:,} | {empty.total} |"
        yield ""


def _draining(figures: Figures) -> Iterator[str]:
    yield DRAINING.format(
        action=f"{draining.ARTICLE_ACTION * 1000:.0f}",
        floor_limit=draining.FLOOR_LIMIT,
        article_limit=f"{draining.ARTICLE_LIMIT:.0f}",
    )
    yield (
        "| due | action | duebell, a second | floor, a second | of the floor's | the article's, a second | "
        "times the article's |"
    )
    yield "|---|---|---|---|---|---|---|"
    for each in figures.draining or ():
        action = f"{each.action_s * 1000:.0f} ms" if each.action_s else "none"
        article = f"{median(each.article):.0f}" if each.article else ""
        yield (
            f"| {each.tasks:,} | {action} | {median(each.ours):.0f} | {median(each.floor):.0f} | "
            f"{each.over_floor} | {article} | {each.over_article or ''} |"
        )
    yield ""


def _capacity(figures: Figures) -> Iterator[str]:
    yield CALLS
    yield capacity_table(figures.capacity or [])
    yield ""


def _costs(figures: Figures) -> Iterator[str]:
    if not (of := costs.measured_in(figures)):
        return
    yield COSTS.format(
        one=f"{of.one_ms:.0f}",
        task=f"{of.task_ms:.2f}",
        memory=costs.MEMORY_MB,
        seconds=next(at.seconds for at in costs.memories(of) if at.memory_mb == costs.MEMORY_MB),
        steps=costs.state_machine().dollars,
    )
    yield (
        f"| a million of | DynamoDB | Lambda | log | in all | to the second, in all | {SCHEDULER} | "
        f"{SCHEDULER_WITH_TABLE} |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for row in costs.rows(of):
        ours = row.minute
        parts = (
            ours.dynamodb,
            ours.function,
            ours.log,
            ours.dollars,
            row.second.dollars,
            row.scheduler.dollars,
            row.with_table.dollars,
        )
        yield f"| {row.what} | {' | '.join(f'${part:,.2f}' for part in parts)} |"
    yield MEMORIES
    yield "| memory, MB | billed, s | a million of them |"
    yield "|---|---|---|"
    by_memory = {at.memory_mb: at for at in costs.memories(of)}
    for at in by_memory.values():
        yield f"| {at.memory_mb:,} | {at.seconds:.2f} | ${at.dollars:.2f} |"
    usual, half = by_memory[costs.MEMORY_MB], by_memory[costs.MEMORY_MB // 2]
    memory_gb = costs.MEMORY_MB / 1024
    yield SNAPSTART.format(
        memory=costs.MEMORY_MB,
        restore=memory_gb * PRICES["restore"].dollars,
        snapshot=snapshot_dollars(costs.MEMORY_MB),
        saved=billed_seconds(costs.MEMORY_MB, of.start_ms, services=0),
        start=usual.dollars,
        half_saves=100 - 100 * half.dollars / usual.dollars,
        half_later=half.seconds - usual.seconds,
    )


def _standing(_: Figures) -> Iterator[str]:
    standing = monthly.Standing()
    memory = costs.MEMORY_MB
    others = idle_dollars(alarms=False, intake=True, snapshot_mb=memory)
    yield STANDING.format(
        alarms=ALARMS,
        polling=others["intake polling"],
        memory=memory,
        snapshot=others["snapshot"],
        alarms_dollars=standing.alarms,
        dashboard=standing.dashboard,
        dollars=standing.dollars,
        intake_alarm=PRICES["alarm"].dollars,
        looking=monthly.LOOKING,
        least=monthly.LEAST,
        daily=monthly.DAILY,
    )


def _watching(figures: Figures) -> Iterator[str]:
    if not figures.telemetry:
        return
    yield WATCHING.format(
        fixed=figures.telemetry.fixed_metrics,
        each=figures.telemetry.action_metrics,
        run=figures.telemetry.run_bytes,
        task=figures.telemetry.task_bytes,
    )
    yield "| actions | metrics | cost of the metrics | alarms | dashboard | in all, a month |"
    yield "|---|---|---|---|---|---|"
    for row in monthly.watched(figures.telemetry):
        parts = (row.metrics_dollars, row.alarms, row.dashboard, row.dollars)
        yield f"| {row.actions} | {row.metrics} | {' | '.join(f'${part:.2f}' for part in parts)} |"
    yield ""


def _waiting(figures: Figures) -> Iterator[str]:
    if not figures.waiting:
        return
    yield WAITING.format(every=f"{waiting.EVERY:.0f}", runs=f"{figures.waiting.runs:.2f}")
    yield "| tasks come due alone | the worker waits | Lambda | DynamoDB | in all, a month |"
    yield "|---|---|---|---|---|"
    for row in monthly.waits(figures.waiting):
        share = f"{row.share:.0%}".replace("%", " % of the time")
        yield f"| {row.what} | {share} | ${row.function:.2f} | ${row.dynamodb:.2f} | ${row.dollars:.2f} |"
    yield ""


def _config(figures: Figures) -> Iterator[str]:
    if not (figures.capacity and figures.waiting):
        return
    yield CONFIG.format(daily=monthly.DAILY)
    yield "| | changes of the rule, a month | recorded continuously |"
    yield "|---|---|---|"
    for row in monthly.recorded(figures.capacity, figures.waiting):
        yield f"| {row.what} | {row.changes:,.0f} | ${row.dollars:,.2f} |"
    yield ""


def _prices(_: Figures) -> Iterator[str]:
    yield "The computation uses these prices:\n"
    yield "| price of | dollars | found at | of |"
    yield "|---|---|---|---|"
    for price in PRICES.values():
        yield f"| {price.of} | ${price.dollars:g} | {price.source} | {price.dated} |"
    yield ""


def _lateness(figures: Figures) -> Iterator[str]:
    yield SIMULATED
    yield from _late(figures.simulated or [])
    if figures.lateness:
        yield LATENESS
        yield from _late(figures.lateness)


def _late(rows: list[lateness.Lateness]) -> Iterator[str]:
    yield "| | tasks | mean | half by | 90 % | 99 % | worst |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        figures = " | ".join(f"{each:.1f}" for each in (row.mean, row.p50, row.p90, row.p99, row.worst))
        yield f"| {row.what} | {row.tasks:,} | {figures} |"
    yield ""


def _client_cpu(figures: Figures) -> Iterator[str]:
    if figures.client_cpu:
        rounds = figures.client_cpu
        yield CLIENT.format(
            ours=f"{rounds.median_ms('duebell'):.2f}",
            bare=f"{rounds.median_ms('bare'):.2f}",
            ratio=rounds.ratio("duebell", "bare"),
            each=client_cpu.REPEATS,
            limit=client_cpu.LIMIT,
        )


def _memory(figures: Figures) -> Iterator[str]:
    if figures.memory:
        yield MEMORY.format(
            tasks=f"{figures.memory.tasks:,}",
            draining=f"{figures.memory.draining_mb:.0f}",
            empty=f"{figures.memory.empty_mb:.0f}",
            growth=f"{figures.memory.growth_mb:.0f}",
            limit=f"{memory.LIMIT_MB:.0f}",
            task_ms=f"{figures.memory.task_ms:.2f}",
            limit_ms=memory.LIMIT_MS,
        )
    if figures.bundle:
        bundle = figures.bundle
        yield (
            f"The bundle without actions is {bundle.packed / 1e6:.1f} MB, {bundle.unpacked / 1e6:.1f} MB "
            f"unpacked, {bundle.files} files, for {bundle.target}.\n"
        )


def _cold_start(figures: Figures) -> Iterator[str]:
    if figures.cold_start:
        rounds = figures.cold_start
        yield COLD_START.format(
            bare=f"{rounds.median_ms('bare'):.0f}",
            ours=f"{rounds.median_ms('duebell'):.0f}",
            ratio=rounds.ratio("duebell", "bare"),
            limit=f"{cold_start.LIMIT:.1f}",
            one=f"{rounds.median_ms('one'):.0f}",
            over=rounds.ratio("one", "bare"),
        )


def _command_line(figures: Figures) -> Iterator[str]:
    if figures.command_line:
        rounds = figures.command_line
        yield COMMAND_LINE.format(
            boto3=f"{rounds.median_ms('boto3'):.0f}",
            help=f"{rounds.median_ms('--help'):.0f}",
            list=f"{rounds.median_ms('list'):.0f}",
            ratio=rounds.ratio("list", "boto3"),
            limit=command_line.LIMIT,
        )


def _schedules(figures: Figures) -> Iterator[str]:
    yield SCHEDULES.format(limit=f"{schedules.LIMIT_US:.0f}")
    yield "| | µs |"
    yield "|---|---|"
    for each in figures.schedules.summary() if figures.schedules else ():
        yield f"| {each.name.replace('*', chr(92) + '*')} | {each.median_us:.0f} |"
    yield ""
