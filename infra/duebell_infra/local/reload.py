"""Reloads the worker of an embedded stack when a source file of its actions changes."""

import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from duebell_shared.errors import DuebellError

from .local import EmbeddedStack

__all__ = ["Reloader"]

#: Seconds between looks. A change is acted on when a look finds no further one: editors write in steps.
_LOOK_EVERY = 0.5

#: The time and size of each file and folder.
_Seen = dict[Path, tuple[int, int]]


class Reloader:
    """A thread that watches the sources inside the context, and says in a line what came of each change.

    Make it before the stack is started: what changes from then on is loaded.
    """

    def __init__(self, stack: EmbeddedStack, say: Callable[[str], None]) -> None:
        self._stack = stack
        self._say = say
        self._files = stack.sources()
        self._loaded = _look_at(self._files)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reload", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        before = self._loaded
        while not self._stop.wait(_LOOK_EVERY):
            seen = _look_at(self._files)
            if seen != self._loaded and seen == before:
                self._reload(sorted(file.name for file in self._files if self._loaded[file] != seen[file]))
                self._files = self._stack.sources() or self._files
                # Of what was looked at before the reload, that look counts: it may have changed meanwhile.
                after = _look_at(self._files)
                self._loaded = {path: seen.get(path, state) for path, state in after.items()}
            before = seen

    def _reload(self, changed: list[str]) -> None:
        try:
            is_new = self._stack.reload()
        except Exception as error:  # noqa: BLE001 (whatever is wrong with it, the next change is looked for)
            why = str(error) if isinstance(error, DuebellError) else f"{type(error).__name__}: {error}"
            self._say(f"the worker is not reloaded, and the one before goes on: {why}")
        else:
            what = ", ".join(changed) or "the folder of its sources"
            if is_new:
                self._say(f"the worker is reloaded: {what} changed")
            else:
                self._say(
                    f"the worker stays as it is: {what} changed, and makes the version that runs already"
                )


def _look_at(sources: Iterable[Path]) -> _Seen:
    """The files and their folders: a file that is added, such as a missing module, changes its folder."""
    files = list(sources)
    return {path: _state_of(path) for path in {*files, *(file.parent for file in files)}}


def _state_of(path: Path) -> tuple[int, int]:
    try:
        stat = path.stat()
    except OSError:
        return (0, 0)
    return stat.st_mtime_ns, stat.st_size
