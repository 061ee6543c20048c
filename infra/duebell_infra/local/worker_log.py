"""The log of an embedded stack's worker, as lines for a terminal."""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from duebell_shared.instants import parse

#: Fields that a line for people does not repeat.
_APART = ("event", "level", "timestamp", "requestId")


class WorkerLog:
    """The file to which the stack copies each line of the worker as it comes, with the time before it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._position = 0
        self._begun = b""

    def new_lines(self) -> Iterator[str]:
        """The lines that were written since the last call, for a terminal."""
        if not self._file.exists():
            return
        with self._file.open("rb") as file:
            file.seek(self._position)
            *lines, self._begun = (self._begun + file.read()).split(b"\n")
            self._position = file.tell()
        for line in lines:
            came, _, message = line.decode(errors="replace").partition(" ")
            if message.strip():
                yield readable(message.rstrip(), at=parse(came))


def readable(message: str, *, at: datetime) -> str:
    """A line of the worker or of an action, with its own time, or else the time `at` which it came."""
    fields = _fields(message)
    time = _time(fields.get("timestamp")) or at
    level = fields.get("level", "INFO")
    if "event" in fields:
        event = _printable(str(fields["event"]))
        rest = {name: value for name, value in fields.items() if name not in _APART}
        told = " ".join(f"{name}={value}" for name, value in rest.items() if value is not None)
        words = f"{event:<5} {_printable(told)}"
    else:
        told = str(fields.get("message", message))
        words = f"      {_printable(told)}{_indented(fields.get('traceback'))}"
    return f"{time.astimezone():%H:%M:%S}  {words}{'' if level == 'INFO' else f'  [{_printable(level)}]'}"


def _fields(message: str) -> dict[str, Any]:
    """The fields of a line that has a level; no fields for a line that was only printed."""
    try:
        fields = json.loads(message)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) and isinstance(fields.get("level"), str) else {}


def _time(text: object) -> datetime | None:
    try:
        return parse(str(text)).astimezone()
    except (ValueError, OverflowError):  # in this time zone, it may be before year 1
        return None


def _indented(traceback: object) -> str:
    """The lines of a traceback, below the message."""
    lines = traceback.splitlines() if isinstance(traceback, str) else []
    return "".join(f"\n                {_printable(line)}" for line in lines)


def _printable(text: str) -> str:
    """The text without control characters, which an action may log and a terminal would obey."""
    return "".join(one if one.isprintable() or one == "\t" else repr(one)[1:-1] for one in text)
