"""The commands that give a task other values."""

from typing import Annotated, Any

import typer

from . import at
from .given import due_from, duration_from, instant_from, payload_from, zone_from
from .options import (
    AsJson,
    Due,
    End,
    ExpiresAfter,
    Id,
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


@app.command(
    epilog="\b\nExamples:\n  duebell move sale-42 --in 1h30m\n"
    "  duebell move sale-42 --due '2026-12-31 09:00' --timezone Europe/Berlin"
)
def move(
    id: Id, *, due: Due = None, in_: In = None, timezone: Timezone = None, as_json: AsJson = False
) -> None:
    """Give a task another due date. It must be scheduled, paused or running.

    Of a recurring task, this moves the one occurrence that it stands at. A running attempt is not stopped.
    """
    when = due_from(due, in_, timezone)
    print_change(at.editor().move(id, due=when), at.now(), as_json=as_json, zone=zone_from(timezone))


@app.command(
    epilog="\b\nExamples:\n  duebell update report --schedule '0 8 * * 1-5' --timezone Europe/Berlin\n"
    "  duebell update report --no-end --payload '{\"n\": 2}'"
)
def update(
    id: Id,
    *,
    action: Annotated[str | None, typer.Option(metavar="ACTION", help="Another action.")] = None,
    payload: Payload = None,
    payload_file: PayloadFile = None,
    schedule: ScheduleOption = None,
    timezone: Timezone = None,
    start: Start = None,
    end: End = None,
    no_end: Annotated[bool, typer.Option("--no-end", help="It goes on without an end.")] = False,
    missed: MissedOption = None,
    max_runs: MaxRuns = None,
    no_max_runs: Annotated[bool, typer.Option("--no-max-runs", help="As often as it comes.")] = False,
    spread: Spread = None,
    no_spread: Annotated[bool, typer.Option("--no-spread", help="Right when it is due.")] = False,
    expires_after: ExpiresAfter = None,
    no_expires_after: Annotated[
        bool, typer.Option("--no-expires-after", help="Run it however late it is.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Change a task that is scheduled or paused; what is not given stays as it is.

    Another schedule comes with its own time zone, start and end, and runs first when it comes next: a rate
    at its --start, or one interval from now. A failed task can be given another payload or action, to be
    retried then. `move` gives another due date.
    """
    zone = zone_from(timezone)
    given = {
        "action": action,
        "schedule": schedule,
        "timezone": timezone,
        "start": instant_from("--start", start, zone),
        "end": instant_from("--end", end, zone),
        "missed": missed,
        "max_runs": max_runs,
        "spread": duration_from("--spread", spread),
        "expires_after": duration_from("--expires-after", expires_after),
    }
    cleared = {
        "end": no_end,
        "max_runs": no_max_runs,
        "spread": no_spread,
        "expires_after": no_expires_after,
    }
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    for name in (name for name, is_cleared in cleared.items() if is_cleared):
        if name in changes:
            option = name.replace("_", "-")
            raise typer.BadParameter(f"give either --{option} or --no-{option}")
        changes[name] = None
    if payload is not None or payload_file is not None:
        changes["payload"] = payload_from(payload, payload_file)
    print_change(at.editor().update(id, **changes), at.now(), as_json=as_json)
