"""`duebell add`: one task, or all of a file."""

from typing import Annotated, Any

import typer

from duebell_editor import IfExists

from . import at
from .adding_many import Given, add_many
from .completing import actions
from .given import due_unless, duration_from, instant_from, payload_from, zone_from
from .options import (
    AsJson,
    Due,
    End,
    ExpiresAfter,
    In,
    MaxRuns,
    MissedOption,
    Payload,
    PayloadFile,
    ScheduleOption,
    Spread,
    Start,
    Timezone,
)
from .output import print_change

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)

_EPILOG = """\b
Examples:
  duebell add remind --in 2d10h --payload '{"user": 7}' --id remind-7
  duebell add report --schedule '0 9 * * 1-5' --timezone Europe/Berlin
  duebell add --from tasks.jsonl --id-prefix import-3- --if-exists keep

--from: a file is read twice, and if a line of it cannot be right, nothing is added. Standard input is added
as it comes, and lines that cannot be right are told at the end (exit status 7). What was broken off can be
repeated with --if-exists keep, when each line has an id, or --id-prefix makes one of its number. In a line,
times are text, and in, spread and expires_after are seconds.
"""


@app.command(epilog=_EPILOG)
def add(
    action: Annotated[
        str | None,
        typer.Argument(metavar="ACTION", help="Name of an action of the worker.", autocompletion=actions),
    ] = None,
    *,
    due: Due = None,
    in_: In = None,
    timezone: Timezone = None,
    schedule: ScheduleOption = None,
    start: Start = None,
    end: End = None,
    missed: MissedOption = None,
    max_runs: MaxRuns = None,
    spread: Spread = None,
    expires_after: ExpiresAfter = None,
    payload: Payload = None,
    payload_file: PayloadFile = None,
    id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="1 to 256 characters. [generated]")
    ] = None,
    if_exists: Annotated[
        IfExists, typer.Option("--if-exists", help="What to do when the id is taken.")
    ] = IfExists.FAIL,
    from_: Annotated[
        str | None,
        typer.Option("--from", metavar="FILE", help="Add many: a JSON object to a line; - is stdin."),
    ] = None,
    id_prefix: Annotated[
        str | None,
        typer.Option(
            "--id-prefix", metavar="TEXT", help="With --from: lines without an id get this and their number."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Add a task: run ACTION with a payload at a time, or by a schedule. Or add many, from a file.

    A due date that has passed means at once.
    """
    alone: dict[str, Any] = {
        "ACTION": action, "--due": due, "--in": in_, "--schedule": schedule, "--start": start, "--end": end,
        "--missed": missed, "--max-runs": max_runs, "--spread": spread, "--expires-after": expires_after,
        "--payload": payload, "--payload-file": payload_file, "--id": id,
    }  # fmt: skip
    if from_ is not None:
        if given := [name for name, value in alone.items() if value is not None]:
            raise typer.BadParameter(f"--from goes without {', '.join(given)}: that stands in its lines")
        add_many(
            at.editor(),
            from_,
            Given(zone_from(timezone), id_prefix, if_exists, at.now),
            as_json=as_json,
        )
        return
    if action is None:
        raise typer.BadParameter("give the ACTION to run, or --from FILE")
    if id_prefix is not None:
        raise typer.BadParameter("--id-prefix goes with --from; give --id")
    when = due_unless(schedule, due, in_, timezone)
    zone = zone_from(timezone)
    task = at.editor().add(
        action,
        due=when,
        schedule=schedule,
        timezone=None if schedule is None else timezone,
        start=instant_from("--start", start, zone),
        end=instant_from("--end", end, zone),
        missed=missed,
        max_runs=max_runs,
        spread=duration_from("--spread", spread),
        expires_after=duration_from("--expires-after", expires_after),
        payload=payload_from(payload, payload_file),
        id=id,
        if_exists=if_exists,
    )
    print_change(task, at.now(), as_json=as_json, zone=zone)
