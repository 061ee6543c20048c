"""The folder that the embedded stack lives in, and the lock that only one stack at a time holds on it."""

import fcntl
import os
import shutil
from pathlib import Path
from typing import Self

from .errors import EmbeddedStackFailed

__all__ = ["StateFolder"]


class StateFolder:
    """Everything the embedded stack writes is in here. Nobody but one stack uses it at a time.

    The lock is on an open file, so it is gone with the last process that has it open, whatever ends that.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self._lock: int | None = None

    @property
    def services(self) -> Path:
        """MiniStack's own state, written when it stops."""
        return self.path / "services"

    @property
    def objects(self) -> Path:
        """What is in MiniStack's S3."""
        return self.path / "s3"

    @property
    def temporary(self) -> Path:
        """Where functions are unpacked while they run."""
        return self.path / "tmp"

    @property
    def log(self) -> Path:
        """What MiniStack says of itself."""
        return self.path / "ministack.log"

    @property
    def lock(self) -> int:
        """The descriptor that holds the lock; a child that inherits it holds the lock too."""
        if self._lock is None:
            raise EmbeddedStackFailed(f"{self.path} is not locked")
        return self._lock

    def __enter__(self) -> Self:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise EmbeddedStackFailed(f"the state folder {self.path} cannot be used: {error}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise EmbeddedStackFailed(
                f"the state folder {self.path} is in use by another stack: stop that first, or give this one "
                f"a folder of its own"
            ) from None
        self._lock = lock
        self._tidy()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _tidy(self) -> None:
        """The folders as a start needs them, without what functions left behind; nothing for git to see."""
        shutil.rmtree(self.temporary, ignore_errors=True)
        for folder in (self.services, self.objects, self.temporary):
            folder.mkdir(exist_ok=True)
        (self.path / ".gitignore").write_text("*\n")
