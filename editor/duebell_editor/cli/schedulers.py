"""Notes on this machine: the places of the schedulers that were named, and the stack of `duebell local`."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Self

import msgspec


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


#: The state folder, unless the variable names another.
STATE = Path(".duebell")
STATE_VARIABLE = "DUEBELL_STATE"

_FILE = "local.json"


class LocalStack(msgspec.Struct, frozen=True, kw_only=True):
    """A stack that `duebell local` started.

    pid          the number of the process
    editor       address of the HTTP editor; empty until everything is ready
    environment  variables with which other processes reach the stack
    """

    pid: int
    editor: str = ""
    environment: dict[str, str] = {}

    @classmethod
    def read(cls, state: Path) -> Self | None:
        """The note in this state folder; None if there is none. A folder of another user is not believed."""
        try:
            if hasattr(os, "geteuid") and state.stat().st_uid != os.geteuid():
                return None
            return msgspec.json.decode((state / _FILE).read_bytes(), type=cls)
        except (OSError, msgspec.MsgspecError):
            return None

    @classmethod
    def find(cls) -> Self | None:
        """The stack of the state folder that DUEBELL_STATE names, or of this folder or the nearest above."""
        if named := os.environ.get(STATE_VARIABLE):
            return cls.read(Path(named))
        here = Path.cwd()
        found = (cls.read(folder / STATE) for folder in (here, *here.parents))
        return next((one for one in found if one), None)

    def write(self, state: Path) -> None:
        """Keep this note in the state folder, in place of one that is there."""
        new = state / f"{_FILE}.new"
        new.write_bytes(msgspec.json.encode(self))
        new.replace(state / _FILE)

    @staticmethod
    def delete(state: Path) -> None:
        """Delete the note."""
        (state / _FILE).unlink(missing_ok=True)
