"""All that came of the comparison, as it is kept beside the page."""

import platform
from collections.abc import Mapping
from datetime import date
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec

from .emulate import Emulated
from .simulate import Idle, Played

__all__ = ["FOLDER", "Results", "load", "save", "where"]

#: The folder of the results and the pictures.
FOLDER = Path(__file__).parents[2] / "docs" / "compare"

_FILE = FOLDER / "results.json"


class Results(msgspec.Struct, kw_only=True):
    """The results by design: of scenes and of an idle hour in the simulation, and of the emulator's run.

    emulated_on  when, and with which versions; the simulation gives the same everywhere
    """

    simulated: dict[str, dict[str, Played]] = {}
    idle: dict[str, Idle] = {}
    emulated: dict[str, Emulated] = {}
    emulated_on: str = ""


def load() -> Results:
    """Return what was found before."""
    return msgspec.json.decode(_FILE.read_bytes(), type=Results) if _FILE.exists() else Results()


def save(results: Results) -> None:
    """Keep it."""
    FOLDER.mkdir(exist_ok=True)
    rounded = _rounded(msgspec.to_builtins(results))
    _FILE.write_bytes(msgspec.json.format(msgspec.json.encode(rounded, order="sorted"), indent=1) + b"\n")


def where() -> str:
    """Return today, and what it runs on."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("boto3", "ministack"))
    return f"{date.today():%d %B %Y}, Python {platform.python_version()}, {versions}"  # noqa: DTZ011


def _rounded(value: Any) -> Any:
    """With six digits of every figure."""
    match value:
        case Mapping():
            return {name: _rounded(each) for name, each in value.items()}
        case list() | tuple():
            return [_rounded(each) for each in value]
        case float():
            return float(f"{value:.6g}")
        case _:
            return value
