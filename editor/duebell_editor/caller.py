"""Who is at this machine, for changes that are made from it. No call to AWS."""

import getpass
import os
import socket

from duebell_shared.given import fit_changed_by

__all__ = ["caller"]


def caller(by: str) -> str | None:
    """The user of this process, the machine, and what is used: `anna@laptop via cli`."""
    return fit_changed_by(f"{_user()}@{socket.gethostname()} via {by}")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # in a container that has no name for it
        return f"uid {os.getuid()}"
