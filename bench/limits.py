"""The limits of the parts: each function returns a line for each figure that is beyond its limit."""

from collections.abc import Iterator

from bench import (
    adding,
    client_cpu,
    cold_start,
    command_line,
    delivering,
    draining,
    lateness,
    limited,
    looking,
    many,
    memory,
    schedules,
)
from bench.figures import Figures

__all__ = [
    "of_adding",
    "of_client_cpu",
    "of_cold_start",
    "of_command_line",
    "of_delivering",
    "of_draining",
    "of_lateness",
    "of_limited",
    "of_looking",
    "of_many",
    "of_memory",
    "of_schedules",
]


def of_schedules(figures: Figures) -> Iterator[str]:
    """Limits of reading schedules."""
    for each in figures.schedules.summary() if figures.schedules else ():
        if each.name.startswith("read and") and each.median_us > schedules.LIMIT_US:
            yield f"{each.name}: {each.median_us:.0f} µs, and {schedules.LIMIT_US:.0f} are the limit"


def of_cold_start(figures: Figures) -> Iterator[str]:
    """Limits of a cold start."""
    if figures.cold_start:
        ratio = figures.cold_start.ratio("duebell", "bare")
        if ratio.median > cold_start.LIMIT:
            yield f"cold start: {ratio} times bare boto3's, and {cold_start.LIMIT} is the limit"


def of_command_line(figures: Figures) -> Iterator[str]:
    """Limits of the command line."""
    if figures.command_line:
        ratio = figures.command_line.ratio("list", "boto3")
        if ratio.median > command_line.LIMIT:
            yield f"duebell list: {ratio} times boto3's client, and {command_line.LIMIT} is the limit"


def of_adding(figures: Figures) -> Iterator[str]:
    """Limits of adds."""
    sizes = figures.adding or []
    for each in sizes:
        if each.over_floor.median > adding.LIMIT:
            what = f"add at {each.queued:,}"
            yield f"{what}: {each.over_floor} times the floor, and {adding.LIMIT} is the limit"
        is_measured = each.queued == adding.ARTICLE_SIZE
        if is_measured and each.article_over_ours.median < adding.ARTICLE_LIMIT:
            yield (
                f"add at {each.queued:,}: the article's takes {each.article_over_ours} times ours, "
                f"and {adding.ARTICLE_LIMIT:.0f} is the limit"
            )
    if sizes and adding.growth(sizes) > adding.GROWTH_LIMIT:
        yield (
            f"add: over the floor by {adding.growth(sizes):.2f} times as much at the longest queue as at the "
            f"shortest, and {adding.GROWTH_LIMIT} is the limit"
        )


def of_looking(figures: Figures) -> Iterator[str]:
    """Limits of looks at a full queue."""
    for each in figures.looking.full if figures.looking else ():
        if each.total > looking.LIMIT:
            yield f"{each.name}: {each.total} calls, and {looking.LIMIT} are the limit"


def of_many(figures: Figures) -> Iterator[str]:
    """Limits of `add_many`."""
    if figures.many and figures.many.gain.median < many.LIMIT:
        yield f"add_many: {figures.many.gain} times as fast as a loop, and {many.LIMIT:.0f} is the limit"


def of_draining(figures: Figures) -> Iterator[str]:
    """Limits of draining a queue."""
    for each in figures.draining or ():
        what = f"draining {each.tasks:,}"
        is_for_floor = (each.tasks, each.action_s) == (draining.FLOOR_TASKS, 0)
        if is_for_floor and each.over_floor.median < draining.FLOOR_LIMIT:
            yield f"{what}: {each.over_floor} of the floor's rate, and {draining.FLOOR_LIMIT} is the limit"
        article = each.over_article
        is_for_article = (each.tasks, each.action_s) == (draining.ARTICLE_TASKS, draining.ARTICLE_ACTION)
        if is_for_article and article and article.median < draining.ARTICLE_LIMIT:
            yield (
                f"{what}: {article} times the article's rate, and {draining.ARTICLE_LIMIT:.0f} is the limit"
            )


def of_limited(figures: Figures) -> Iterator[str]:
    """Limits of what limits of actions cost those that have none."""
    if not figures.limited:
        return
    ratio = figures.limited.over_none("other")
    if ratio.median > limited.LIMIT:
        yield (
            f"limits: {ratio} times the processor time while another action is limited, "
            f"and {limited.LIMIT} is the limit"
        )
    calls = {name: min(figures.limited.ways[name].calls) for name in ("none", "other")}
    if calls["other"] > calls["none"] + limited.MORE_CALLS:
        yield f"limits: {calls['other']} calls while another action is limited, and {calls['none']} without"


def of_delivering(figures: Figures) -> Iterator[str]:
    """Limits of deliveries."""
    if figures.delivering and (gain := figures.delivering.remote.gain).median < delivering.LIMIT:
        yield f"deliveries: {gain} times as fast as one by one, and {delivering.LIMIT:.0f} is the limit"


def of_memory(figures: Figures) -> Iterator[str]:
    """Limits of memory and time of a run."""
    if figures.memory and figures.memory.growth_mb > memory.LIMIT_MB:
        growth = figures.memory.growth_mb
        yield f"memory: {growth:.0f} MB for the tasks of a run, and {memory.LIMIT_MB:.0f} are the limit"
    if figures.memory and figures.memory.task_ms > memory.LIMIT_MS:
        yield f"draining: {figures.memory.task_ms:.2f} ms for a task, and {memory.LIMIT_MS} are the limit"


def of_client_cpu(figures: Figures) -> Iterator[str]:
    """Limits of an add's processor time."""
    if figures.client_cpu:
        ratio = figures.client_cpu.ratio("duebell", "bare")
        if ratio.median > client_cpu.LIMIT:
            yield f"add: {ratio} times the bare calls' processor time, and {client_cpu.LIMIT} is the limit"


def of_lateness(figures: Figures) -> Iterator[str]:
    """Limits of lateness."""
    for each in figures.lateness or []:
        half, most = lateness.LIMITS[each.what.rpartition(" ")[2]]
        if each.p50 > half or each.p99 > most:
            yield (
                f"{each.what}: half by {each.p50:.2f} s and 99 % by {each.p99:.2f} s, "
                f"and {half} and {most} are the limits"
            )
