"""The user of this process, as the author of its changes. Makes no call to AWS."""

import getpass
import os
import socket

from duebell_shared.tasks.checks import fit_changed_by


def caller(by: str) -> str | None:
    """The user of this process, the machine, and the tool `by` which: `anna@laptop via cli`."""
    return fit_changed_by(f"{_user()}@{socket.gethostname()} via {by}")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return f"uid {os.getuid()}"
