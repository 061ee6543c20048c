"""The access key of an embedded stack: random, in a file that only its owner can read."""

import os
import re
import secrets
import stat
import tempfile
from pathlib import Path

__all__ = ["access_key"]

#: For nobody but the owner.
_FOR_OTHERS = stat.S_IRWXG | stat.S_IRWXO

#: 128 random bits, in letters and digits as AWS's own keys are, but not taken for one of those by scanners.
_FORM = re.compile(r"DUEBELL[0-9A-F]{32}")


def access_key(file: Path) -> str:
    """The key in this file. A new one if there is none, or if another user could know or have made it.

    Raises OSError when the file cannot be written.
    """
    return _kept(file) or _created(file)


def _kept(file: Path) -> str | None:
    try:
        # A link may lead to anything; a pipe that somebody put there must not block.
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        is_ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        if not is_ours or status.st_mode & _FOR_OTHERS:
            return None
        text = os.read(descriptor, 1000).decode("ascii", errors="replace").strip()
    finally:
        os.close(descriptor)
    return text if _FORM.fullmatch(text) else None


def _created(file: Path) -> str:
    key = f"DUEBELL{secrets.token_hex(16).upper()}"
    # A temporary file is readable by its owner only, from its first moment.
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=file.name)
    try:
        with os.fdopen(descriptor, "w") as new:
            new.write(f"{key}\n")
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return key
