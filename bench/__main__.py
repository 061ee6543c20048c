"""Run the measurements: `make bench`. The exit status is 1 if one is beyond its limit."""

import argparse
import logging
import sys
import time
from collections.abc import Callable

import boto3

from bench import (
    adding,
    bundle_size,
    capacity,
    client_cpu,
    cold_start,
    delivering,
    draining,
    lateness,
    looking,
    many,
    memory,
    priorities,
    schedules,
    simulated,
    telemetry,
    waiting,
)
from bench.costs import save_units
from bench.document import PAGE, render
from bench.figures import load, save, where
from bench.limits import beyond
from bench.pictures import draw
from bench.stack import emulated_aws

#: The parts that need no AWS, and those that run on an emulated one of their own.
_ALONE: dict[str, Callable[[], object]] = {
    "capacity": capacity.measure,
    "telemetry": telemetry.measure,
    "waiting": waiting.measure,
    "schedules": schedules.measure,
    "cold_start": cold_start.measure,
    "client_cpu": client_cpu.measure,
    "memory": memory.measure,
    "priorities": priorities.measure,
    "bundle": bundle_size.measure,
    "simulated": simulated.measure,
}
_EMULATED: dict[str, Callable[[boto3.Session], object]] = {
    "adding": adding.measure,
    "many": many.measure,
    "draining": draining.measure,
    "delivering": delivering.measure,
    "looking": looking.measure,
}

#: Measured only when asked for: it takes a quarter of an hour of real time.
_LONG = "lateness"


def main() -> int:
    """Measure, write the figures, the pictures and the page, say what is beyond its limit."""
    options = _options()
    logging.getLogger("duebell").addHandler(logging.NullHandler())  # what fails here fails on purpose
    for part in options.parts:
        print(f"{part} ...", end=" ", flush=True)
        begin = time.monotonic()
        measured = _measure(part, options.precision)
        figures = load()
        setattr(figures, part, measured)
        figures.measured[part] = where()
        save(figures)  # part by part: what comes next may be broken off
        print(f"{time.monotonic() - begin:.0f} s")
    figures = load()
    save_units(figures)
    draw(figures)
    PAGE.write_text(render(figures), encoding="utf-8")
    print(f"written: {PAGE.relative_to(PAGE.parents[1])} and what it shows")
    lines = beyond(figures, options.parts)
    print("\n".join(lines), file=sys.stderr, end="\n" if lines else "")
    return bool(lines)


def _options() -> argparse.Namespace:
    default = [*_ALONE, *_EMULATED]
    parser = argparse.ArgumentParser(prog="bench", description="What duebell costs.")
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="part",
        help=f"{', '.join(default)}, or {_LONG}; all but the last if not given. What is not measured is kept",
    )
    parser.add_argument(
        "--precision", default="minute", choices=["minute", "second"], help=f"of the stack of {_LONG}"
    )
    options = parser.parse_args()
    if unknown := set(options.parts) - {*default, _LONG}:
        parser.error(f"there is no {', '.join(unknown)}; the parts are {', '.join([*default, _LONG])}")
    options.parts = options.parts or default
    return options


def _measure(part: str, precision: str) -> object:
    if part == _LONG:
        late = lateness.measure(precision)
        return [*(each for each in load().lateness or () if each.what != late.what), late]
    if part in _ALONE:
        return _ALONE[part]()
    with emulated_aws() as session:
        return _EMULATED[part](session)


sys.exit(main())
