"""The places of schedulers that were used from this machine: a name's region, account and profile.

A stack's name tells neither, and AWS can only be asked within one account and region. So the command line
notes where it found a scheduler, in `environments.json` in the user's state folder. What else it needs is not
kept but asked: it may change with each deployment.
"""

import os
from contextlib import suppress
from pathlib import Path

import msgspec

__all__ = ["Place", "forget_place", "known_places", "note_place"]


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The place of one scheduler; `profile` is None where the environment's credentials were used."""

    region: str
    account: str
    profile: str | None = None


def known_places() -> dict[str, Place]:
    """The places by name; none if the file is missing or cannot be read."""
    try:
        return msgspec.json.decode(_file().read_bytes(), type=dict[str, Place])
    except (OSError, msgspec.MsgspecError):
        return {}


def note_place(name: str, place: Place) -> None:
    """Note the place of this scheduler. A file that cannot be written is no error: it is found again."""
    known = known_places()
    if known.get(name) != place:
        _write({**known, name: place})


def forget_place(name: str) -> None:
    """Drop the note of this scheduler."""
    known = known_places()
    if known.pop(name, None):
        _write(known)


def _write(places: dict[str, Place]) -> None:
    file = _file()
    new = file.with_name(f"{file.name}.{os.getpid()}")
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        new.write_bytes(msgspec.json.format(msgspec.json.encode(places)))
        new.replace(file)


def _file() -> Path:
    state = os.environ.get("XDG_STATE_HOME")
    folder = Path(state) if state and Path(state).is_absolute() else Path.home() / ".local" / "state"
    return folder / "duebell" / "environments.json"
