"""Tells which figures are beyond their limits."""

from collections.abc import Iterator

from bench import (
    adding,
    client_cpu,
    cold_start,
    delivering,
    draining,
    lateness,
    looking,
    many,
    memory,
    schedules,
)
from bench.figures import Figures

__all__ = ["beyond"]


def beyond(figures: Figures, parts: list[str]) -> list[str]:
    """Return a line for each figure of these parts that is beyond its limit."""
    checks = {
        "schedules": _schedules,
        "cold_start": _cold_start,
        "adding": _adding,
        "many": _many,
        "draining": _draining,
        "delivering": _delivering,
        "looking": _looking,
        "memory": _memory,
        "client_cpu": _client_cpu,
        "lateness": _lateness,
    }
    return [line for part in parts if part in checks for line in checks[part](figures)]


def _schedules(figures: Figures) -> Iterator[str]:
    for each in figures.schedules.summary() if figures.schedules else ():
        if each.name.startswith("read and") and each.median_us > schedules.LIMIT_US:
            yield f"{each.name}: {each.median_us:.0f} µs, and {schedules.LIMIT_US:.0f} are the limit"


def _cold_start(figures: Figures) -> Iterator[str]:
    if figures.cold_start:
        ratio = figures.cold_start.ratio("duebell", "bare")
        if ratio.median > cold_start.LIMIT:
            yield f"cold start: {ratio} times bare boto3's, and {cold_start.LIMIT} is the limit"


def _adding(figures: Figures) -> Iterator[str]:
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


def _looking(figures: Figures) -> Iterator[str]:
    for each in figures.looking.full if figures.looking else ():
        if each.total > looking.LIMIT:
            yield f"{each.name}: {each.total} calls, and {looking.LIMIT} are the limit"


def _many(figures: Figures) -> Iterator[str]:
    if figures.many and figures.many.gain.median < many.LIMIT:
        yield f"add_many: {figures.many.gain} times as fast as a loop, and {many.LIMIT:.0f} is the limit"


def _draining(figures: Figures) -> Iterator[str]:
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


def _delivering(figures: Figures) -> Iterator[str]:
    if figures.delivering and figures.delivering.gain.median < delivering.LIMIT:
        gain = figures.delivering.gain
        yield f"deliveries: {gain} times as fast as one by one, and {delivering.LIMIT:.0f} is the limit"


def _memory(figures: Figures) -> Iterator[str]:
    if figures.memory and figures.memory.growth_mb > memory.LIMIT_MB:
        growth = figures.memory.growth_mb
        yield f"memory: {growth:.0f} MB for the tasks of a run, and {memory.LIMIT_MB:.0f} are the limit"
    if figures.memory and figures.memory.task_ms > memory.LIMIT_MS:
        yield f"draining: {figures.memory.task_ms:.2f} ms for a task, and {memory.LIMIT_MS} are the limit"


def _client_cpu(figures: Figures) -> Iterator[str]:
    if figures.client_cpu:
        ratio = figures.client_cpu.ratio("duebell", "bare")
        if ratio.median > client_cpu.LIMIT:
            yield f"add: {ratio} times the bare calls' processor time, and {client_cpu.LIMIT} is the limit"


def _lateness(figures: Figures) -> Iterator[str]:
    for each in figures.lateness or []:
        half, most = lateness.LIMITS[each.what.rpartition(" ")[2]]
        if each.p50 > half or each.p99 > most:
            yield (
                f"{each.what}: half by {each.p50:.2f} s and 99 % by {each.p99:.2f} s, "
                f"and {half} and {most} are the limits"
            )
