"""The note about the stack of `duebell local`, a file on this machine."""

import os
from pathlib import Path
from typing import Self

import msgspec

#: The state folder, unless the variable names another.
STATE = Path(".duebell")
STATE_VARIABLE = "DUEBELL_STATE"

_FILE = "local.json"


class LocalNote(msgspec.Struct, frozen=True, kw_only=True):
    """A stack that `duebell local` started.

    pid          the number of the process
    editor       address of the HTTP editor
    environment  variables with which other processes reach the stack
    """

    pid: int
    editor: str
    environment: dict[str, str]

    @classmethod
    def read(cls, state: Path) -> Self | None:
        """The note in this state folder; None if there is none. A folder of another user is ignored."""
        try:
            if hasattr(os, "geteuid") and state.stat().st_uid != os.geteuid():
                return None
            return msgspec.json.decode((state / _FILE).read_bytes(), type=cls)
        except (OSError, msgspec.MsgspecError):
            return None

    @classmethod
    def find(cls) -> Self | None:
        """The stack whose state folder DUEBELL_STATE names; or that of this folder or the nearest above."""
        if named := os.environ.get(STATE_VARIABLE):
            return cls.read(Path(named))
        here = Path.cwd()
        found = (cls.read(folder / STATE) for folder in (here, *here.parents))
        return next((one for one in found if one), None)

    def write(self, state: Path) -> None:
        """Store this note in the state folder, in place of an earlier one."""
        new = state / f"{_FILE}.new"
        new.write_bytes(msgspec.json.encode(self))
        new.replace(state / _FILE)

    @staticmethod
    def delete(state: Path) -> None:
        """Delete the note."""
        (state / _FILE).unlink(missing_ok=True)
