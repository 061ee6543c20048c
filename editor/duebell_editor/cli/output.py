"""Printing: answers to standard output, all else to standard error; tables that fit the terminal."""

import itertools
import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from textwrap import indent
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from duebell_shared.instants import as_text
from duebell_shared.tasks.status import Verb

#: The width of a pipe or a file: lines that are cut or wrapped cannot be searched or copied.
_UNLIMITED = 100_000

#: The beginning of a command in a text. Not of `duebell local`, nor of one that begins with an option.
_COMMAND = re.compile(r"`duebell (?!-|local\b)")

#: Failures that are printed; the rest is only counted.
_SHOWN = 20

#: Cells up to this width are not wrapped. Longer ids would leave no space for other columns.
_WHOLE = 40

#: The least width of the last column of a table if its texts are longer.
_LAST = 20

_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


@dataclass
class Output:
    """Prints the output of a command: for people, or with `as_json` for programs.

    account    the options that choose the account and the scheduler, as they were given
    option_of  names a field of the library as the command does
    """

    as_json: bool = False
    is_verbose: bool = False
    account: dict[str, str] = field(default_factory=dict)
    option_of: Callable[[str], str] = str

    @property
    def program(self) -> list[str]:
        """The beginning of a command that reaches the same scheduler in this environment."""
        given = ((f"--{name.replace('_', '-')}", value) for name, value in self.account.items())
        return ["duebell", *itertools.chain.from_iterable(given)]

    def in_full(self, text: str) -> str:
        """The text, and each command in it with the options that reach the same scheduler."""
        return _COMMAND.sub(lambda _: f"`{plain(shlex.join(self.program))} ", text)

    @property
    def can_ask(self) -> bool:
        """True if a person can answer a question."""
        return sys.stdin.isatty() and sys.stderr.isatty()

    def print_json(self, document: Any) -> None:
        """Print one JSON document on one line, in ASCII."""
        print(json.dumps(document, default=as_text))

    def answer(self, document: Any, now: datetime) -> None:
        """Print the answer of a command. For people, lists of objects in it are tables."""
        if self.as_json:
            self.print_json(document)
        elif isinstance(document, Mapping):
            lists = {name: value for name, value in document.items() if _is_list_of_objects(value)}
            facts = {name: value for name, value in document.items() if name not in lists}
            console().print(facts_table(facts, now))
            for name, rows in lists.items():
                console().print("", Text(title_of(name), style="bold"), table(rows, now), sep="\n")
        elif document:
            console().print(table(document, now))
        else:
            self.note("nothing found")

    def report(self, done: str, document: Mapping[str, Any], failures: Sequence[Mapping[str, Any]]) -> None:
        """Print the result of a command that makes many changes: `done` for people, and the first failures.

        The first value of a failure is the id or the line that failed.
        """
        if self.as_json:
            self.print_json({**document, "failures": failures})
            return
        print(f"{done}, {len(failures):,} failed" if failures else done, flush=True)
        for failure in failures[:_SHOWN]:
            place, which = next(iter(failure.items()))
            self.note(f"{place} {which}: {failure['detail']}")
        if failures[_SHOWN:]:
            self.note(f"and {len(failures) - _SHOWN:,} more")

    def warn(self, text: str) -> None:
        """Print a warning on standard error, in one line; as a JSON object for programs."""
        self.note(f"warning: {plain(text)}", {"warning": text})

    def note(self, text: str, document: Mapping[str, Any] | None = None) -> None:
        """Print a line on standard error; with --json `document`, if given."""
        line = json.dumps(document) if self.as_json and document else self.in_full(plain(text))
        print(line, file=sys.stderr)

    def tell_watcher(self, text: str) -> None:
        """Print a line on standard error if a person can see it."""
        if sys.stderr.isatty():
            self.note(text)

    def progress(self, done: int, total: int) -> None:
        """Print how far the command is, if a person can see it."""
        if done:
            self.tell_watcher(f"{done:,} of {total:,}")


class _SafeConsole(Console):
    """A console that writes control characters as escapes, whatever is printed."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=plain(segment.text))


def console() -> Console:
    """A console without markup, with colour on a terminal only."""
    made = _SafeConsole(markup=False, highlight=False, emoji=False)
    if not made.is_terminal:
        made.width = _UNLIMITED
    return made


def plain(text: str) -> str:
    """`text` with everything but printable characters and line ends written as escapes.

    A terminal obeys control characters, and the text of a task or an error may come from anyone.
    """
    return "".join(
        character if character.isprintable() or character == "\n" else repr(character)[1:-1]
        for character in text
    )


def json_line(line: str) -> str:
    """A line of JSON with the characters that a terminal obeys as JSON's own escapes: the same value."""
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in line)


def in_one_line(text: str) -> str:
    """`text` without line ends and tabs, safe for a terminal."""
    return plain(" ".join(text.split()))


def count_of(tasks: int) -> str:
    """A number of tasks: `1 task`, `1,200 tasks`."""
    return "1 task" if tasks == 1 else f"{tasks:,} tasks"


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
    """A time in the local zone, without seconds and zone: `2026-12-31 01:00`."""
    return local(instant)[:16]


def relative(instant: datetime, now: datetime) -> str:
    """The time from now to `instant` in its two largest units: `in 1 h 29 min`, `45 s ago`, `now`."""
    seconds = round(abs((instant - now).total_seconds()))
    sizes = [size for _, size in _UNITS]
    first = next((index for index, size in enumerate(sizes) if seconds >= size), len(sizes) - 1)
    least = sizes[min(first + 1, len(sizes) - 1)]
    seconds = (seconds + least // 2) // least * least  # so that 2d10h does not become 2d9h at once
    counts = []
    for unit, size in _UNITS:
        count, seconds = divmod(seconds, size)
        counts.append((count, unit))
    leading = itertools.dropwhile(lambda one: not one[0], counts)
    words = " ".join(f"{count} {unit}" for count, unit in itertools.islice(leading, 2) if count)
    if not words:
        return "now"
    return f"in {words}" if instant > now else f"{words} ago"


def facts_table(document: Mapping[str, Any], now: datetime) -> Table:
    """The fields of a JSON answer, a row each. A field that is empty by `in_words` is left out."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in document.items():
        if words := in_words(name, value, now):
            grid.add_row(title_of(name), Text(plain(words)))
    return grid


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and isinstance(value[0], Mapping)


def table(rows: Sequence[Mapping[str, Any]], now: datetime) -> Table:
    """JSON answers of one kind, a row each. Columns that are empty, zero or false in all rows are left out.

    Only the last column is wrapped. If the screen is too narrow, one column holds all fields but the first.
    """
    columns = {
        title_of(name): [_cell(name, row.get(name), now) for row in rows]
        for name in dict.fromkeys(itertools.chain.from_iterable(rows))
        if any(row.get(name) for row in rows)
    }
    titles, lines = list(columns), list(zip(*columns.values(), strict=True))
    *widths, last = [max(map(len, [title, *cells])) for title, cells in columns.items()]
    if sum(widths) + 2 * len(widths) + min(last, _LAST) > console().width:
        lines = [(line[0], _with_titles(titles[1:], line[1:])) for line in lines]
        titles = [titles[0], ""]
    made = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    for title, width in zip(titles, [*widths[: len(titles) - 1], _UNLIMITED], strict=True):
        made.add_column(title, no_wrap=width <= min(_WHOLE, console().width - 20), overflow="fold")
    for line in lines:
        made.add_row(*map(Text, line))
    return made


def _with_titles(titles: Sequence[str], cells: Sequence[str]) -> str:
    return "; ".join(f"{title}: {cell}" for title, cell in zip(titles, cells, strict=True) if cell)


def _cell(name: str, value: Any, now: datetime) -> str:
    """A value in one line; a time without how far away it is."""
    return local(value) if isinstance(value, datetime) else in_one_line(in_words(name, value, now))


def in_words(name: str, value: Any, now: datetime) -> str:
    """A value of a JSON answer, for people; empty if it is null, empty or false.

    Numbers of a field whose name ends with `_ms`, and the parts of a lateness, are milliseconds. They are
    shown in seconds.
    """
    if name in {"payload", "result"} and not isinstance(value, str) and value not in ({}, [], None):
        return json.dumps(value, ensure_ascii=False, indent=2)
    words = str(value)
    match value:
        case bool():
            words = "yes" if value else ""
        case int():
            words = f"{value / 1000:,.1f} s" if name.endswith("_ms") else f"{value:,}"
        case float():
            words = f"{value:,.6f}".rstrip("0").rstrip(".")
        case _ if not value:
            words = ""
        case datetime():
            words = when(value, now)
        case str() if isinstance(value, Verb) or name == "what":
            words = value.replace("_", "-")
        case Mapping():
            unit = "_ms" if name == "parts_of_lateness" else ""
            shown = {key: in_words(f"{key}{unit}", inner, now) for key, inner in value.items() if inner}
            words = "\n".join(_titled(title_of(key), part) for key, part in shown.items() if part)
        case list() | tuple():
            words = ", ".join(in_words("", one, now) for one in value)
    return words


def _titled(title: str, words: str) -> str:
    """The words after their title; several lines stand below it."""
    if "\n" not in words:
        return f"{title}: {words}"
    return f"{title}:\n{indent(words.rstrip(), '  ')}"


def title_of(name: str) -> str:
    """The name of a field for people."""
    return plain(name.removesuffix("_ms").replace("_", " "))
