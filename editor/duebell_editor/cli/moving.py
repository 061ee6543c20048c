"""The commands about a whole queue: out, in, and more lanes."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from duebell_shared.backend import Backend
from duebell_shared.settings import MAX_LANES, Settings

from ..editor import Editor
from ..relane import relane as relane_queue
from .exits import Exit
from .text import in_options, plain

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)


def _backend() -> Backend:
    """What these commands work on; tests put their own here."""
    return Backend.connect(Settings.from_env())


@app.command("export")
def export_queue() -> None:
    """Write every task, history included, to standard output: one JSON document to a line."""
    output = sys.stdout.buffer
    for line in Editor(backend=_backend()).export_tasks():
        output.write(line + b"\n")


@app.command("import", epilog="\b\nExample:\n  duebell --profile old export | duebell --profile new import -")
def import_queue(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="What was exported; - is standard input.")
    ] = "-",
) -> None:
    """Add the tasks of an export, but for ids that are there already; so it can be repeated.

    The exit status is 7 if some could not be written.
    """
    editor = Editor(backend=_backend())

    def say(done: int) -> None:
        print(f"{done:,} tasks", file=sys.stderr)

    if file == "-":
        report = editor.import_tasks(_without_mark(sys.stdin.buffer), progress=say)
    else:
        try:
            with Path(file).open("rb") as lines:
                report = editor.import_tasks(_without_mark(lines), progress=say)
        except OSError as error:
            raise typer.BadParameter(f"cannot read {file}: {error.strerror}") from error
    print(f"{report.written:,} written, {report.there:,} there already, {len(report.failures):,} failed")
    for failure in report.failures[:10]:
        print(plain(f"{failure.id}: {in_options(failure.error)}"), file=sys.stderr)
    if report.failures:
        raise typer.Exit(Exit.SOME_FAILED)


def _without_mark(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines, without what some programs put before UTF-8."""
    for number, line in enumerate(lines):
        yield line if number else line.removeprefix(b"\xef\xbb\xbf")


@app.command(epilog="\b\nExample:\n  duebell relane 16")
def relane(
    lanes: Annotated[
        int, typer.Argument(metavar="LANES", help=f"How many there shall be, up to {MAX_LANES}.")
    ],
) -> None:
    """Give the queue more lanes, while it is in use, and move the tasks that wait to where they belong.

    Runs leave first, so tasks wait until it is done: seconds to minutes. Editors and workers go on. One that
    was broken off is repeated with the same number.
    """

    def say(what: str) -> None:
        print(what, file=sys.stderr)

    done = relane_queue(_backend(), lanes, progress=say)
    print(f"{done.lanes} lanes, {done.moved:,} tasks moved")
    for id in done.left[:10]:
        print(plain(f"{id}: stays where it is, and runs there"), file=sys.stderr)
