"""The folder of an embedded stack, and the lock that only one stack at a time holds on it."""

import fcntl
import os
import shutil
import stat
from pathlib import Path
from typing import Self, TypeVar

from duebell_infra.errors import EmbeddedStackFailed

from .access_key import access_key

__all__ = ["StateFolder"]

T = TypeVar("T")


class StateFolder:
    """The folder that holds everything that the embedded stack writes. One stack uses it at a time.

    Only its owner can look into it. The lock is on an open file, so it is gone with the last process that has
    it open, whatever ends that.

    services   MiniStack's own state, written when it stops
    objects    the objects of MiniStack's S3
    temporary  the functions, unpacked while they run
    log        MiniStack's own log
    worker_log what the worker and its actions write, as it comes, since the stack was started
    """

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.services = self.path / "services"
        self.objects = self.path / "s3"
        self.temporary = self.path / "tmp"
        self.log = self.path / "ministack.log"
        self.worker_log = self.path / "worker.log"
        self._lock: int | None = None
        self._key: str | None = None

    @property
    def key(self) -> str:
        """The access key that the stack asks for."""
        return self._locked(self._key)

    @property
    def lock(self) -> int:
        """The descriptor that holds the lock; a child that inherits it holds the lock too."""
        return self._locked(self._lock)

    def __enter__(self) -> Self:
        try:
            self.path.mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
            _make_private(self.path)
            self._lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._tidy()
            self._key = access_key(self.path / "key")
        except BlockingIOError:
            self.__exit__()
            raise EmbeddedStackFailed(
                f"the state folder {self.path} is in use by another stack: stop that first, or give this one "
                f"a folder of its own"
            ) from None
        except OSError as error:
            self.__exit__()
            raise EmbeddedStackFailed(f"the state folder {self.path} cannot be used: {error}") from error
        return self

    def __exit__(self, *exception: object) -> None:
        if self._lock is not None:
            os.close(self._lock)
        self._lock = None

    def _locked(self, held: T | None) -> T:
        if held is None:
            raise EmbeddedStackFailed(f"{self.path} is not locked")
        return held

    def _tidy(self) -> None:
        """Make the folders, empty the temporary one, and hide them from git."""
        shutil.rmtree(self.temporary, ignore_errors=True)
        for folder in (self.services, self.objects, self.temporary):
            folder.mkdir(exist_ok=True)
        (self.path / ".gitignore").write_text("*\n")


def _make_private(folder: Path) -> None:
    """Take the folder from everybody but us. Raises EmbeddedStackFailed if it does not become ours alone."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(descriptor).st_uid != os.geteuid():
            raise EmbeddedStackFailed(
                f"the state folder {folder} belongs to another user, who could run code as you",
                field="state",
            )
        os.fchmod(descriptor, stat.S_IRWXU)
        if os.fstat(descriptor).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise EmbeddedStackFailed(
                f"other users can read the state folder {folder}, and its file system cannot change that",
                field="state",
            )
    finally:
        os.close(descriptor)
