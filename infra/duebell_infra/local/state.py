"""The folder of an embedded stack: its lock, which one stack at a time holds, and its access key."""

import fcntl
import os
import secrets
import shutil
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

from duebell_editor.cli.local_note import LocalNote
from duebell_infra.errors import AlreadyRunning, EmbeddedStackFailed

#: No descriptor.
_NONE = -1

#: For nobody but the owner.
_FOR_OTHERS = stat.S_IRWXG | stat.S_IRWXO

#: Seconds that MiniStack may hold the lock after its process was killed: it writes its state.
_PATIENCE = 2.0

_LOCK = "lock"


class StateFolder:
    """The folder that holds everything that the embedded stack writes. One stack uses it at a time.

    Only its owner can read it. The lock is on an open file, so it ends with the last process that has the
    file open, however that process ends.

    services   MiniStack's own state, written when it stops
    objects    the objects of MiniStack's S3
    temporary  the functions, unpacked while they run
    log        MiniStack's own log
    worker_log the output of the worker and its actions since the start, line by line as it comes
    key        the access key that the stack asks for; empty until the folder is locked
    lock       the descriptor that holds the lock; a child that inherits it holds the lock too
    """

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.services = self.path / "services"
        self.objects = self.path / "s3"
        self.temporary = self.path / "tmp"
        self.log = self.path / "ministack.log"
        self.worker_log = self.path / "worker.log"
        self.key = ""
        self.lock = _NONE

    def __enter__(self) -> Self:
        try:
            self.path.mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
            if not (self.path / _LOCK).exists() and any(self.path.iterdir()):
                raise EmbeddedStackFailed(
                    f"{self.path} has other files in it: give a new or empty folder with --state"
                )
            _make_private(self.path)
            self.lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            self._take_lock()
            # The note of a killed process is still there, and another process may have its number now.
            LocalNote.delete(self.path)
            shutil.rmtree(self.temporary, ignore_errors=True)
            for folder in (self.services, self.objects, self.temporary):
                folder.mkdir(exist_ok=True)
            (self.path / ".gitignore").write_text("*\n")
            self.key = access_key(self.path / "key")
        except BlockingIOError:
            self.__exit__()
            raise AlreadyRunning(
                f"the stack in {self.path} runs already: end it with `duebell local stop`, or give this one "
                f"a folder of its own"
            ) from None
        except OSError as error:
            self.__exit__()
            raise EmbeddedStackFailed(f"the state folder {self.path} cannot be used: {error}") from error
        return self

    def __exit__(self, *exception: object) -> None:
        if self.lock != _NONE:
            os.close(self.lock)
        self.lock = _NONE

    def _take_lock(self) -> None:
        give_up = time.monotonic() + _PATIENCE
        while True:
            try:
                return fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > give_up:
                    raise
            time.sleep(0.1)


def is_locked(folder: Path) -> bool:
    """Tell whether a stack uses this state folder."""
    try:
        with (folder / _LOCK).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except (FileNotFoundError, NotADirectoryError):
        pass
    return False


def _make_private(folder: Path) -> None:
    """Take the folder from everybody but us. Raises EmbeddedStackFailed if it does not become ours alone."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(descriptor).st_uid != os.geteuid():
            raise EmbeddedStackFailed(
                f"the state folder {folder} belongs to another user, who could run code as you: choose "
                f"another with --state"
            )
        os.fchmod(descriptor, stat.S_IRWXU)
        if os.fstat(descriptor).st_mode & _FOR_OTHERS:
            raise EmbeddedStackFailed(
                f"other users can read the state folder {folder}, and its file system cannot change that: "
                f"choose another with --state"
            )
    finally:
        os.close(descriptor)


def access_key(file: Path) -> str:
    """The key in this file of the folder, which is private by now; a new key if others could know it.

    Raises OSError when the file cannot be written.
    """
    with suppress(FileNotFoundError):
        status = file.lstat()
        is_ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        if is_ours and not status.st_mode & _FOR_OTHERS:
            return file.read_text().strip()
        file.unlink()
    # 128 random bits, in letters and digits as AWS's own keys are. Scanners do not take it for a key of AWS.
    key = f"DUEBELL{secrets.token_hex(16).upper()}"
    # From its first moment, only its owner can read the file.
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as new:
        new.write(f"{key}\n")
    return key
