"""Words for people: text made safe for a terminal, and times in the local zone."""

import itertools
from collections.abc import Sequence
from datetime import UTC, datetime

from duebell_shared.errors import DuebellError, InvalidInput, NotArmed

__all__ = ["in_options", "local", "option_of", "plain", "relative", "short", "when", "without_code"]

_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))

#: Arguments of the library that are options of the commands.
_OPTIONS = {
    "after", "before", "count", "cursor", "due", "end", "expires_after", "if_exists", "limit", "max_runs",
    "missed", "payload", "prefix", "schedule", "spread", "start", "status", "timezone",
}  # fmt: skip

#: What stands for a field when it was not given as an option of its name.
_INSTEAD = {"id": "ID", "action": "ACTION", "schedule": "EXPRESSION", "lanes": "LANES"}

#: The library speaks to programmers; these are its words for them, and what a terminal has instead.
_WORDS = (
    ("give an aware datetime, or a timedelta from now", "give a date and time, or a time from now"),
    ("--fix`, or Editor.ensure_armed(), sets it right", "--fix` sets it right"),
    ("call ensure_armed() to try again", "`duebell doctor --fix` tries again"),
    ("or use `due`", "or --due"),
    ("missed='skip'", "--missed skip"),
    ("max_runs is used up", "--max-runs is used up"),
    ("choose another id, or add with if_exists='keep' (leave it as it is) or if_exists='replace'",
     "choose another --id, or give --if-exists keep (leave it as it is) or --if-exists replace"),
    ("move the occurrence, then update", "`duebell move` the occurrence, then update"),
)  # fmt: skip


def plain(text: str) -> str:
    """`text` with everything but printable characters and line ends written as escapes.

    A terminal obeys control characters, and what stands in a task or an error is not always ours.
    """
    return "".join(
        character if character.isprintable() or character == "\n" else repr(character)[1:-1]
        for character in text
    )


def in_options(error: DuebellError, arguments: Sequence[str] = ()) -> str:
    """What an error says, in one line, with the way out as the command line has it."""
    if isinstance(error, InvalidInput):
        field = option_of(error.field, arguments)
        said = "nothing is given to change" if field == "change" else f"{field}: {error.reason}"
    else:
        said = str(error)
    if isinstance(error, NotArmed) and "ensure_armed" not in said:
        said += "; `duebell doctor --fix` sets it right"
    return without_code(" ".join(said.split("\n")))


def without_code(text: str) -> str:
    """`text` of the library in the words of the command line."""
    for code, words in _WORDS:
        text = text.replace(code, words)
    return text


def option_of(field: str, arguments: Sequence[str]) -> str:
    """What the command line with these arguments calls a field of the library's: `--max-runs` of max_runs."""
    given = {argument.partition("=")[0] for argument in arguments}
    option = f"--{field.replace('_', '-')}"
    if option in given:
        return option
    if field == "due" and "--in" in given:
        return "--in"
    return _INSTEAD.get(field) or (option if field in _OPTIONS else field)


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


def short(instant: datetime) -> str:
    """The same without seconds and zone, where there is no room for them: `2026-12-31 01:00`."""
    return local(instant)[:16]


def relative(instant: datetime, now: datetime) -> str:
    """How far `instant` is from now, to the second unit: `in 1 h 29 min`, `45 s ago`, `now`."""
    seconds = round(abs((instant - now).total_seconds()))
    sizes = [size for _, size in _UNITS]
    first = next((at for at, size in enumerate(sizes) if seconds >= size), len(sizes) - 1)
    least = sizes[min(first + 1, len(sizes) - 1)]
    seconds = (seconds + least // 2) // least * least  # what was typed as 2d10h a moment ago is still that
    counts = []
    for unit, size in _UNITS:
        count, seconds = divmod(seconds, size)
        counts.append((count, unit))
    leading = itertools.dropwhile(lambda one: not one[0], counts)
    words = " ".join(f"{count} {unit}" for count, unit in itertools.islice(leading, 2) if count)
    if not words:
        return "now"
    return f"in {words}" if instant > now else f"{words} ago"
