"""`duebell add --from`: a file of JSON lines added in chunks, with a bar, and what came of it."""

import contextlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, NamedTuple
from zoneinfo import ZoneInfo

import typer

from duebell_editor import AddReport, Editor, IfExists
from duebell_shared.errors import (
    AwsError,
    DuebellError,
    InvalidInput,
    InvalidTask,
    NotArmed,
    NotDeployed,
    TaskExists,
)
from duebell_shared.quoting import quoted

from .exits import Exit
from .lines import Line, Reader, checked
from .progress import bar
from .saying import tell_some, warn
from .text import in_options, plain, without_code

__all__ = ["Given", "add_many"]

#: Lines that are written before the next are read.
_CHUNK = 500

#: Bytes that are read at a time, if so many are there.
_READ = 1_000_000

#: Lines in a row that AWS does not take, after which it is broken off.
_PATIENCE = 25


class Given(NamedTuple):
    """How the lines are to be understood."""

    zone: ZoneInfo | None
    id_prefix: str | None
    if_exists: IfExists
    clock: Callable[[], datetime]


@dataclass
class _Tally:
    """What came of the lines so far."""

    added: int = 0
    there_already: int = 0
    done_to: int = 0  # the last line of what was written
    unanswered: int = 0  # lines, since AWS took one last
    failures: list[tuple[Line, str]] = field(default_factory=list)

    def fail(self, line: Line, error: DuebellError) -> None:
        if isinstance(error, InvalidInput):
            why = without_code(f"{error.field}: {error.reason}" if error.field else error.reason)
        elif isinstance(error, TaskExists):
            why = f"the id {quoted(error.id)} is taken: give --if-exists keep, or replace, for what is there"
        else:
            why = in_options(error)
        self.failures.append((line, plain(" ".join(why.split("\n")))))


def add_many(editor: Editor, file: str, given: Given, *, as_json: bool) -> None:
    """Add what the lines of a file, or `-`, standard input, say. Exits with 7 when some could not be added.

    A file is checked before anything of it is written. What comes through a pipe can be read only once.
    """
    tally = _Tally()
    is_checked = file != "-" and not _is_a_pipe(file)
    total = None
    if is_checked:
        total = _check(file, given, tally)
        if tally.failures:
            _tell(tally, as_json=as_json)
            some = f"{len(tally.failures):,} of the lines" if tally.failures[1:] else "a line"
            raise typer.BadParameter(f"{some} cannot be right; nothing was added")
    reader = Reader(given.zone, given.id_prefix, given.clock, warn=(lambda _: None) if is_checked else warn)
    try:
        with _opened(file) as lines, bar("adding", total) as progress:
            chunks = (list(reader.read(chunk)) for chunk in _chunks(lines))
            _add(editor, chunks, given, tally, progress)
    except (KeyboardInterrupt, DuebellError):
        with contextlib.suppress(DuebellError):
            editor.ensure_armed()  # for what is stored, and was not rung for yet
        warn(
            f"broken off after line {tally.done_to:,}, and some of the {_CHUNK} after it may be stored too; "
            f"{_how_to_repeat(reader)}"
        )
        _tell(tally, as_json=as_json)
        raise
    if not is_checked:
        _warn_of_repeating(reader)
    _tell(tally, as_json=as_json)
    if tally.failures:
        raise typer.Exit(Exit.SOME_FAILED)


def _check(file: str, given: Given, tally: _Tally) -> int:
    """How many lines there are; those that cannot be right are failures."""
    reader = Reader(given.zone, given.id_prefix, given.clock, warn=warn)
    total = 0
    with _opened(file) as lines, bar("checking", None) as progress:
        for chunk in _chunks(lines):
            for line in reader.read(chunk):
                total += 1
                if isinstance(line.task, InvalidTask):
                    tally.fail(line, line.task)
            progress(total)
    if not tally.failures:
        _warn_of_repeating(reader)
    return total


def _add(
    editor: Editor,
    chunks: Iterable[Sequence[Line]],
    given: Given,
    tally: _Tally,
    progress: Callable[[int], None],
) -> None:
    done = 0
    for chunk in chunks:
        _write(editor, _right(chunk, tally), given, tally)
        done += len(chunk)
        tally.done_to = chunk[-1].number if chunk else tally.done_to
        progress(done)


def _right(lines: Iterable[Line], tally: _Tally) -> list[Line]:
    """Those that are tasks; the others are failures."""
    right = []
    for line in lines:
        if isinstance(line.task, InvalidTask):
            tally.fail(line, line.task)
        else:
            right.append(line)
    return right


def _write(editor: Editor, lines: Sequence[Line], given: Given, tally: _Tally) -> None:
    try:
        report, trouble = _insert(editor, lines, given.if_exists)
    except InvalidTask:  # they were right when they were read: of one, the time has passed since
        now = [line._replace(task=checked(line.task, given.clock())) for line in lines]
        still = _right(now, tally)
        if len(still) == len(lines):
            raise
        _write(editor, still, given, tally)
        return
    there = len(report.there_already) if given.if_exists is IfExists.KEEP else 0
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


def _insert(editor: Editor, lines: Sequence[Line], if_exists: IfExists) -> tuple[AddReport, NotArmed | None]:
    """What was stored, and what is wrong when that is not rung for."""
    tasks = [line.task for line in lines if not isinstance(line.task, InvalidTask)]
    try:
        return editor.add_many(tasks, if_exists=if_exists), None
    except NotArmed as error:
        report = error.report
        return report if isinstance(report, AddReport) else AddReport(added=()), error


def _tell(tally: _Tally, *, as_json: bool) -> None:
    """How many were added, and which were not and why."""
    if as_json:
        failures = [{"line": line.number, "id": line.id, "detail": why} for line, why in tally.failures]
        document = {"added": tally.added, "there_already": tally.there_already, "failures": failures}
        print(json.dumps(document))
        return
    there = f"{tally.there_already:,} there already, " if tally.there_already else ""
    print(f"{tally.added:,} added, {there}{len(tally.failures):,} failed")
    sys.stdout.flush()
    tell_some([f"line {line.number}: {why}" for line, why in tally.failures])


def _warn_of_repeating(reader: Reader) -> None:
    if reader.without_id:
        some = f"{reader.without_id:,} lines have" if reader.without_id > 1 else "a line has"
        warn(
            f"{some} no id: if this were repeated, they would be added again; --id-prefix TEXT makes ids of "
            f"their line numbers"
        )


def _how_to_repeat(reader: Reader) -> str:
    if reader.without_id:
        return "to repeat it, leave these lines out: those without an id would be added again"
    return "repeat it with --if-exists keep: what is stored already stays as it is"


def _chunks(file: BinaryIO) -> Iterator[list[bytes]]:
    """Lines as they come: what is there is not kept waiting for more. Only a line feed ends a line."""
    rest = b""
    while data := file.read1(_READ):  # type: ignore[attr-defined] # what reads bytes in Python has it
        *lines, rest = (rest + data).split(b"\n")
        for start in range(0, len(lines), _CHUNK):
            yield lines[start : start + _CHUNK]
    yield [rest]


def _is_a_pipe(file: str) -> bool:
    path = Path(file)
    return path.exists() and not path.is_file()


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    if file == "-":
        yield sys.stdin.buffer
        return
    try:
        lines = Path(file).open("rb")  # noqa: SIM115 (closed below)
    except OSError as error:
        raise typer.BadParameter(f"cannot read {file}: {error.strerror}") from error
    with lines:
        yield lines
