"""All that was measured, as it is kept beside the document: parts can be measured anew one by one."""

import os
import platform
from datetime import date
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec

from bench.adding import Adding
from bench.bundle_size import BundleSize
from bench.capacity import Path as CapacityPath
from bench.delivering import Delivering
from bench.draining import Draining
from bench.lateness import Lateness
from bench.limited import Limited
from bench.looking import Looking
from bench.many import Many
from bench.memory import Memory
from bench.priorities import Order
from bench.telemetry import Telemetry
from bench.timing import Rounds
from bench.waiting import Waiting

__all__ = ["FOLDER", "Figures", "load", "save", "where"]

#: The folder of the figures and the pictures.
FOLDER = Path(__file__).parents[1] / "docs" / "performance"

_FILE = FOLDER / "figures.json"

_LIBRARIES = ("boto3", "msgspec", "ministack", "moto", "croniter")


class Figures(msgspec.Struct, kw_only=True):
    """A field for each part, empty until it was measured; and of each, when and on what."""

    measured: dict[str, str] = {}
    schedules: Rounds | None = None
    cold_start: Rounds | None = None
    command_line: Rounds | None = None
    client_cpu: Rounds | None = None
    capacity: list[CapacityPath] | None = None
    telemetry: Telemetry | None = None
    waiting: Waiting | None = None
    bundle: BundleSize | None = None
    adding: list[Adding] | None = None
    many: Many | None = None
    draining: list[Draining] | None = None
    limited: Limited | None = None
    delivering: Delivering | None = None
    looking: Looking | None = None
    memory: Memory | None = None
    priorities: list[Order] | None = None
    simulated: list[Lateness] | None = None
    lateness: list[Lateness] | None = None


def load() -> Figures:
    """The figures that were measured before."""
    return msgspec.json.decode(_FILE.read_bytes(), type=Figures) if _FILE.exists() else Figures()


def save(figures: Figures) -> None:
    """Keep them."""
    FOLDER.mkdir(exist_ok=True)
    rounded = _rounded(msgspec.to_builtins(figures))
    _FILE.write_bytes(msgspec.json.format(msgspec.json.encode(rounded), indent=1) + b"\n")


def where() -> str:
    """Today, on what machine, with which versions."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in _LIBRARIES)
    system = f"{platform.system()} on {platform.machine()}, {_processors()}"
    return f"{date.today():%d %B %Y}: {system}, Python {platform.python_version()}, {versions}"  # noqa: DTZ011


def _rounded(value: Any) -> Any:
    """With five digits of every figure: more would be noise."""
    match value:
        case dict():
            return {name: _rounded(each) for name, each in value.items()}
        case list() | tuple():
            return [_rounded(each) for each in value]
        case float():
            return float(f"{value:.5g}")
        case _:
            return value


def _processors() -> str:
    return f"{os.cpu_count()} processors"
