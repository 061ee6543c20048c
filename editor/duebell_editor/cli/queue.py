"""The commands about a whole queue: `export`, `import`, `relane`."""

import sys
from collections.abc import Iterable, Iterator
from typing import Annotated

import typer

from duebell_shared.settings import MAX_LANES

from .context import Context
from .errors import Exit, words_of
from .output import plain
from .parsing import opened

__all__ = ["app"]

app = typer.Typer()


@app.command("export")
def export_queue(context: Context) -> None:
    """Write every task, history included, to standard output: one JSON document to a line."""
    output = sys.stdout.buffer
    for line in context.editor().export_tasks():
        output.write(line + b"\n")


@app.command("import", epilog="\b\nExample:\n  duebell --profile old export | duebell --profile new import -")
def import_queue(
    context: Context,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="What was exported; - is standard input.")
    ] = "-",
) -> None:
    """Add the tasks of an export, except for ids that exist already; so it can be repeated.

    The exit status is 7 if some could not be written.
    """
    out = context.out
    with opened(file) as lines:
        report = context.editor().import_tasks(
            _without_mark(lines), progress=lambda done: out.note(f"{done:,} tasks")
        )
    print(f"{report.written:,} written, {report.there:,} there already, {len(report.failures):,} failed")
    out.note_some([plain(f"{failure.id}: {words_of(failure.error)}") for failure in report.failures])
    if report.failures:
        raise typer.Exit(Exit.SOME_FAILED)


def _without_mark(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines, without the byte order mark that some programs put before UTF-8."""
    for number, line in enumerate(lines):
        yield line if number else line.removeprefix(b"\xef\xbb\xbf")


@app.command(epilog="\b\nExample:\n  duebell relane 16")
def relane(
    context: Context,
    lanes: Annotated[
        int, typer.Argument(metavar="LANES", help=f"How many there shall be, up to {MAX_LANES}.")
    ],
) -> None:
    """Give the queue more lanes, while it is in use, and move the tasks that wait to where they belong.

    Runs leave first, so tasks wait until it is done: seconds to minutes. Editors and workers are not stopped.
    Repeat it with the same number if it was interrupted.
    """
    done = context.editor().relane(lanes, progress=context.out.note)
    print(f"{done.lanes} lanes, {done.moved:,} tasks moved")
    context.out.note_some([plain(f"{id}: stays where it is, and runs there") for id in done.left])
