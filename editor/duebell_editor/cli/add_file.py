"""`duebell add --from`: a file of JSON lines added in chunks, with a progress bar and a report."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO, NamedTuple
from zoneinfo import ZoneInfo

import typer

from duebell_editor import AddReport, Editor, IfExists
from duebell_shared.errors import (
    AwsError,
    DuebellError,
    InvalidTask,
    NotArmed,
    NotDeployed,
    TaskExists,
)
from duebell_shared.quoting import quoted

from .context import Context
from .errors import Exit, WrongUsage, words_of
from .json_lines import Line, Reader
from .output import Output, plain
from .parsing import opened

__all__ = ["Policy", "add_file"]

#: Lines that are written before the next are read.
_CHUNK = 500

#: Bytes that are read at a time at most.
_READ = 1_000_000

#: Lines in a row that AWS does not accept, before the command gives up.
_PATIENCE = 25


class Policy(NamedTuple):
    """What to do when an id is taken: `if_exists` and `at_most` of `Editor.add`, the same for all lines."""

    if_exists: IfExists
    at_most: timedelta | None


@dataclass
class _Tally:
    """The result of the lines so far."""

    added: int = 0
    there_already: int = 0
    done_to: int = 0  # number of the last line that was written
    unanswered: int = 0  # number of lines since AWS accepted one
    failures: list[tuple[Line, str]] = field(default_factory=list)

    def fail(self, line: Line, error: DuebellError) -> None:
        if isinstance(error, TaskExists):
            why = f"the id {quoted(error.id)} is taken: give --if-exists keep, or replace, for what is there"
        elif isinstance(error, InvalidTask) and not error.field:
            why = error.reason
        else:
            why = words_of(error)
        self.failures.append((line, plain(" ".join(why.split("\n")))))

    def tasks_of(self, lines: Iterable[Line]) -> list[Line]:
        """The lines that are tasks; the others are failures."""
        tasks = []
        for line in lines:
            if isinstance(line.task, InvalidTask):
                self.fail(line, line.task)
            else:
                tasks.append(line)
        return tasks

    def tell(self, out: Output) -> None:
        """Print how many were added, and which failed and why."""
        if out.as_json:
            failures = [{"line": line.number, "id": line.id, "detail": why} for line, why in self.failures]
            counts = {"added": self.added, "there_already": self.there_already}
            out.print_json({**counts, "failures": failures})
            return
        there = f"{self.there_already:,} there already, " if self.there_already else ""
        print(f"{self.added:,} added, {there}{len(self.failures):,} failed")
        out.note_some([f"line {line.number}: {why}" for line, why in self.failures])


def add_file(
    context: Context, file: str, *, zone: ZoneInfo | None, id_prefix: str | None, policy: Policy
) -> None:
    """Add the tasks in the lines of a file, or of `-`, standard input. Exits with 7 when some failed.

    A file is checked before any of its tasks is written. A pipe is not, because it can be read only once.
    """
    if others := context.given_besides("from_", "timezone", "id_prefix", "if_exists", "at_most"):
        raise WrongUsage(f"--from goes without {', '.join(others)}: that stands in its lines")
    out, tally = context.out, _Tally()
    is_pipe = file == "-" or (Path(file).exists() and not Path(file).is_file())
    total = None if is_pipe else _check(file, Reader(zone, id_prefix, context.now, warn=out.warn), tally, out)
    reader = Reader(zone, id_prefix, context.now, warn=out.warn if is_pipe else lambda _: None)
    editor = context.editor()
    try:
        with opened(file) as lines, out.progress("adding", total) as progress:
            done = 0
            for chunk in _chunks(lines, reader):
                _write(editor, tally.tasks_of(chunk), policy, context, tally)
                done += len(chunk)
                tally.done_to = chunk[-1].number if chunk else tally.done_to
                progress(done)
    except (KeyboardInterrupt, DuebellError):
        with contextlib.suppress(DuebellError):
            editor.ensure_armed()  # for tasks that are stored, but not armed for yet
        out.warn(
            f"broken off after line {tally.done_to:,}, and some of the {_CHUNK} after it may be stored too; "
            f"{_how_to_repeat(reader)}"
        )
        tally.tell(out)
        raise
    if is_pipe:
        _warn_of_repeating(reader, out)
    tally.tell(out)
    if tally.failures:
        raise typer.Exit(Exit.SOME_FAILED)


def _check(file: str, reader: Reader, tally: _Tally, out: Output) -> int:
    """Check all lines and count them. Prints the wrong ones, and raises WrongUsage if there are any."""
    total = 0
    with opened(file) as lines, out.progress("checking", None) as progress:
        for chunk in _chunks(lines, reader):
            tally.tasks_of(chunk)
            total += len(chunk)
            progress(total)
    if tally.failures:
        tally.tell(out)
        some = f"{len(tally.failures):,} of the lines" if tally.failures[1:] else "a line"
        raise WrongUsage(f"{some} cannot be right; nothing was added")
    _warn_of_repeating(reader, out)
    return total


def _write(editor: Editor, lines: Sequence[Line], policy: Policy, context: Context, tally: _Tally) -> None:
    try:
        report, trouble = _insert(editor, lines, policy)
    except InvalidTask:  # a line was right when it was read, but its schedule has ended since
        still = tally.tasks_of(line.checked(context.now()) for line in lines)
        if len(still) == len(lines):
            raise
        _write(editor, still, policy, context, tally)
        return
    there = len(report.there_already) if policy.if_exists is IfExists.KEEP else 0
    tally.added += len(report.added) - there
    tally.there_already += there
    for failure in report.failures:
        tally.fail(lines[failure.index], failure.error)
    if trouble:
        raise trouble
    errors = [one.error for one in report.failures if isinstance(one.error, AwsError | NotDeployed)]
    tally.unanswered = 0 if len(errors) < len(lines) else tally.unanswered + len(errors)
    if tally.unanswered >= _PATIENCE or any(isinstance(error, NotDeployed) for error in errors):
        raise errors[-1]  # the other lines would fare no better


def _insert(editor: Editor, lines: Sequence[Line], policy: Policy) -> tuple[AddReport, NotArmed | None]:
    """Store the tasks. Returns the report, and the error when the rule does not ring for them."""
    tasks = [line.task for line in lines if not isinstance(line.task, InvalidTask)]
    try:
        return editor.add_many(tasks, if_exists=policy.if_exists, at_most=policy.at_most), None
    except NotArmed as error:
        report = error.report
        return report if isinstance(report, AddReport) else AddReport(added=()), error


def _warn_of_repeating(reader: Reader, out: Output) -> None:
    if reader.without_id:
        some = f"{reader.without_id:,} lines have" if reader.without_id > 1 else "a line has"
        out.warn(
            f"{some} no id: if this were repeated, they would be added again; --id-prefix TEXT makes ids of "
            f"their line numbers"
        )


def _how_to_repeat(reader: Reader) -> str:
    if reader.without_id:
        return "to repeat it, leave these lines out: those without an id would be added again"
    return "repeat it with --if-exists keep: what is stored already stays as it is"


def _chunks(file: BinaryIO, reader: Reader) -> Iterator[list[Line]]:
    """Read lines as they come, without waiting for full chunks. Only a line feed ends a line."""
    rest = b""
    while data := file.read1(_READ):  # type: ignore[attr-defined] # binary files and stdin.buffer have it
        *lines, rest = (rest + data).split(b"\n")
        for start in range(0, len(lines), _CHUNK):
            yield list(reader.read(lines[start : start + _CHUNK]))
    yield list(reader.read([rest]))
