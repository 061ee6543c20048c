"""Words for people: text made safe for a terminal, and times in the local zone."""

from datetime import UTC, datetime

from duebell_shared.errors import DuebellError, TaskExists

__all__ = ["in_options", "local", "plain", "relative", "when"]

_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def plain(text: str) -> str:
    """`text` with everything but printable characters and line ends written as escapes.

    A terminal obeys control characters, and what stands in a task or an error is not always ours.
    """
    return "".join(
        character if character.isprintable() or character == "\n" else repr(character)[1:-1]
        for character in text
    )


def in_options(error: DuebellError) -> str:
    """What an error says, in one line, with the way out as the command line has it."""
    if isinstance(error, TaskExists):
        return (
            f"a task {error.id!r} exists already: choose another --id, or give --if-exists keep "
            f"(leave it as it is) or --if-exists replace"
        )
    return " ".join(str(error).split("\n"))


def when(instant: datetime | None, now: datetime) -> str:
    """A time in the local zone, and how far away it is: `2026-12-31 01:00:00 CET (in 3 h)`."""
    return "-" if instant is None else f"{local(instant)} ({relative(instant, now)})"


def local(instant: datetime) -> str:
    """A time in the local zone, without its fraction of a second: `2026-12-31 01:00:00 CET`."""
    try:
        here = instant.astimezone()
    except (OverflowError, ValueError, OSError):  # the calendar's first and last hours
        here = instant.astimezone(UTC)
    return f"{here.replace(tzinfo=None).isoformat(' ', 'seconds')} {here.tzname()}"


def relative(instant: datetime, now: datetime) -> str:
    """How far `instant` is from now, in the unit that fits, rounded: `in 3 h`, `45 s ago`, `now`."""
    seconds = (instant - now).total_seconds()
    for unit, size in _UNITS:
        if abs(seconds) >= size:
            count = round(abs(seconds) / size)
            return f"in {count} {unit}" if seconds > 0 else f"{count} {unit} ago"
    return "now"
