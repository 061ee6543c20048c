"""Standard output and standard error of which each line is written whole, whatever threads print at once."""

import sys
import threading
from collections.abc import Iterable
from typing import Any, TextIO, cast

__all__ = ["WholeLines", "end_lines", "keep_lines_whole"]


class WholeLines:
    """A text stream that gives another one whole lines; whatever else it is asked for is the other's.

    Problem: `print` writes a text and the end of its line one after the other, so the lines of actions that
    print at the same time get mixed up. Solution: each thread's text is kept until its line ends.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._writing = threading.Lock()
        self._thread = threading.local()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write the lines that end in this text, and keep the rest for this thread's next one."""
        lines, newline, rest = (self._kept() + text).rpartition("\n")
        self._thread.kept = rest
        if newline:
            self._give(lines + newline)
        return len(text)

    def writelines(self, texts: Iterable[str]) -> None:
        """Write these texts, one after the other."""
        self.write("".join(texts))

    def flush(self) -> None:
        """Write what this thread has begun, as a program wants that shows how far it has come."""
        if kept := self._kept():
            self._thread.kept = ""
            self._give(kept)
        self._stream.flush()

    def end_line(self) -> None:
        """End the line that this thread has begun, if any: nothing more of it comes."""
        if self._kept():
            self.write("\n")

    def _kept(self) -> str:
        return getattr(self._thread, "kept", "")

    def _give(self, text: str) -> None:
        with self._writing:
            self._stream.write(text)


def keep_lines_whole() -> None:
    """Have this process write whole lines. Only the owner of the process calls this."""
    out, err = sys.stdout, sys.stderr
    sys.stdout = _whole(out)
    sys.stderr = sys.stdout if err is out else _whole(err)


def end_lines() -> None:
    """End the lines that this thread has begun, before it does something else or ends."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, WholeLines):
            stream.end_line()


def _whole(stream: TextIO) -> TextIO:
    return stream if isinstance(stream, WholeLines) else cast("TextIO", WholeLines(stream))
