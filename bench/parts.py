"""The parts that `make bench` measures, by name: the one list of them. Each is a field of Figures, too."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from bench import (
    adding,
    bundle_size,
    capacity,
    client_cpu,
    cold_start,
    command_line,
    delivering,
    draining,
    lateness,
    limited,
    limits,
    looking,
    many,
    memory,
    priorities,
    schedules,
    simulated,
    telemetry,
    waiting,
)
from bench.figures import Figures

__all__ = ["EMULATED", "LONG", "PARTS", "Part", "beyond"]


class Part(NamedTuple):
    """The measurement of a part, and a line for each of its figures that is beyond its limit."""

    measure: Callable[..., Any]
    beyond: Callable[[Figures], Iterator[str]] = lambda _: iter(())


#: Measured only when asked for: it takes a quarter of an hour of real time.
LONG = "lateness"

#: Parts that are measured on an emulated AWS of their own; `measure` takes the session.
EMULATED = {
    "adding": Part(adding.measure, limits.of_adding),
    "many": Part(many.measure, limits.of_many),
    "draining": Part(draining.measure, limits.of_draining),
    "limited": Part(limited.measure, limits.of_limited),
    "delivering": Part(delivering.measure, limits.of_delivering),
    "looking": Part(looking.measure, limits.of_looking),
}

#: All parts, in the order in which they are measured.
PARTS = {
    "capacity": Part(capacity.measure),
    "telemetry": Part(telemetry.measure),
    "waiting": Part(waiting.measure),
    "schedules": Part(schedules.measure, limits.of_schedules),
    "cold_start": Part(cold_start.measure, limits.of_cold_start),
    "command_line": Part(command_line.measure, limits.of_command_line),
    "client_cpu": Part(client_cpu.measure, limits.of_client_cpu),
    "memory": Part(memory.measure, limits.of_memory),
    "priorities": Part(priorities.measure),
    "bundle": Part(bundle_size.measure),
    "simulated": Part(simulated.measure),
    **EMULATED,
    LONG: Part(lateness.measure, limits.of_lateness),
}


def beyond(figures: Figures, parts: Iterable[str]) -> list[str]:
    """Return a line for each figure of these parts that is beyond its limit."""
    return [line for part in parts for line in PARTS[part].beyond(figures)]
