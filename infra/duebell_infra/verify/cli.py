"""The output of `duebell verify`: a line for each check, as it is made."""

import json
from collections import Counter
from collections.abc import Iterable

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from duebell_editor.cli.errors import Exit
from duebell_editor.cli.output import console, plain

from .checks import CHECKS
from .finding import Finding, Result

__all__ = ["tell"]

_STYLES = {Result.OK: "green", Result.SLOWER: "yellow", Result.FAILED: "red", Result.SKIPPED: "dim"}

#: The widths of the columns with the result and the check's name.
_WIDTHS = (max(map(len, Result)), max(len(check.name) for check in CHECKS))


def tell(findings: Iterable[Finding], *, as_json: bool) -> Exit:
    """Say each finding as it comes, then how many there were of each result; the exit status."""
    told = []
    for finding in findings:
        told.append(finding)
        if as_json:
            typer.echo(json.dumps(msgspec.to_builtins(finding)))
        else:
            _show(finding)
    results = Counter(finding.result for finding in told)
    if not as_json and console().is_terminal:
        counts = [f"{results[result]} {result}" for result in Result if results[result]]
        console().print(Text(", ".join(counts)))
    if results[Result.FAILED]:
        return Exit.WRONG
    return Exit.AWS if any(finding.lacks for finding in told) else Exit.DONE


def _show(finding: Finding) -> None:
    out = console()
    if not out.is_terminal:
        fields = (finding.result, finding.check, _line(finding.found), _line(finding.way_out or ""))
        typer.echo("\t".join(fields))
        return
    row = Table.grid(padding=(0, 2))
    for width in _WIDTHS:
        row.add_column(width=width, no_wrap=True)
    row.add_column(overflow="fold")
    row.add_row(
        Text(finding.result, style=_STYLES[finding.result]), finding.check, Text(plain(_line(finding.found)))
    )
    if finding.way_out:
        row.add_row("", "", Text(f"to do: {plain(_line(finding.way_out))}"))
    out.print(row)


def _line(text: str) -> str:
    """In one line, without tabs."""
    return " ".join(text.split())
