"""Run the measurements: `make bench`. The exit status is 1 if one is beyond its limit."""

import argparse
import platform
import sys
from importlib import metadata
from pathlib import Path

import msgspec

from bench import adding, cold_start, draining, schedules
from bench.stack import emulated_aws
from bench.timing import Timed


def main() -> int:
    """Measure, print, write the figures as JSON."""
    parser = argparse.ArgumentParser(description="What duebell costs.")
    parser.add_argument("--output", type=Path, default=Path("dist/bench.json"), help="where the figures go")
    options = parser.parse_args()
    timed = schedules.measure()
    _print("schedules", timed)
    bare, ours = started = cold_start.measure()
    _print("cold start", started)
    ratio = ours.median_us / bare.median_us
    print(f"{ratio:13.2f} times bare boto3's")
    with emulated_aws() as session:
        added = adding.measure(session)
        drained = [draining.measure(session, tasks) for tasks in (1_000, 3_000)]
    for each in added:
        _print(f"adding, {each.queued:,} queued", each.timed)
        print(f"{each.over_floor:13.2f} times the floor; the article {each.article_over_ours:.1f} times ours")
    for one in drained:
        print(f"\ndraining {one.tasks:,}: {one.ours:,.0f} a second, {one.over_floor:.2f} times the floor's")
    figures = {
        "machine": _machine(),
        "schedules": timed,
        "cold_start": started,
        "cold_start_ratio": ratio,
        "adding": added,
        "draining": drained,
    }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_bytes(msgspec.json.format(msgspec.json.encode(figures)))
    beyond = [
        f"{each.name}: {each.median_us:.0f} µs, and {schedules.LIMIT_US:.0f} are the limit"
        for each in timed
        if each.name.startswith("read and") and each.median_us > schedules.LIMIT_US
    ]
    beyond += [
        f"add at {each.queued:,}: {each.over_floor:.2f} times the floor, and {adding.LIMIT} is the limit"
        for each in added
        if each.over_floor > adding.LIMIT
    ]
    if ratio > cold_start.LIMIT:
        beyond.append(f"cold start: {ratio:.2f} times bare boto3's, and {cold_start.LIMIT} is the limit")
    print("\n".join(beyond), file=sys.stderr, end="")
    return bool(beyond)


def _print(title: str, timed: list[Timed]) -> None:
    print(f"\n{title}")
    for each in timed:
        print(
            f"{each.median_us:13,.1f} µs  (best {each.best_us:,.1f}, worst {each.worst_us:,.1f})  {each.name}"
        )


def _machine() -> dict[str, str]:
    versions = {name: metadata.version(name) for name in ("boto3", "pynamodb", "msgspec", "croniter")}
    return {"python": platform.python_version(), "machine": platform.machine(), **versions}


sys.exit(main())
