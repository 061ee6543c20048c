"""The terminal, or what stands in its place: how wide, in which colours, which characters."""

from rich.console import Console
from rich.text import Text

from duebell_shared.task import Status

__all__ = ["console", "recurring_mark", "status_text"]

_STYLES = {
    Status.RUNNING: "cyan",
    Status.PAUSED: "yellow",
    Status.DONE: "green",
    Status.FAILED: "red",
    Status.CANCELLED: "dim",
    Status.EXPIRED: "yellow",
}

#: When nobody looks, a line is as long as it is: what is cut or wrapped cannot be searched or copied.
_UNLIMITED = 100_000


def console() -> Console:
    """A console that takes no text for markup, and has colour on a terminal only."""
    made = Console(markup=False, highlight=False, emoji=False)
    if not made.is_terminal:
        made.width = _UNLIMITED
    return made


def recurring_mark(encoding: str) -> str:
    """What marks a recurring task, if it can be shown."""
    return "↻" if encoding.lower().startswith("utf") else "(recurring)"


def status_text(status: Status) -> Text:
    """A status in its colour."""
    return Text(status.value, style=_STYLES.get(status, ""))
