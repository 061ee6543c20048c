"""Arguments and options that several commands have."""

from typing import Annotated

import typer

from duebell_editor import Missed
from duebell_shared.task import Status

from .completing import actions, ids, zones

__all__ = [
    "Action",
    "After",
    "AsJson",
    "Before",
    "Due",
    "End",
    "ExpiresAfter",
    "Id",
    "In",
    "MaxRuns",
    "MissedOption",
    "Payload",
    "PayloadFile",
    "Prefix",
    "ScheduleOption",
    "Spread",
    "Start",
    "StatusOption",
    "Timezone",
]

Id = Annotated[str, typer.Argument(metavar="ID", help="The task's id.", autocompletion=ids)]
Due = Annotated[
    str | None,
    typer.Option("--due", metavar="TIME", help="When: ISO-8601, such as 2026-12-31T09:00+01:00; up to 2199."),
]
In = Annotated[
    str | None,
    typer.Option("--in", metavar="DURATION", help="How long from now, such as 90s, 1h30m, 2d10h, 1.5h."),
]
Timezone = Annotated[
    str | None,
    typer.Option(
        "--timezone",
        metavar="ZONE",
        help="Zone of times without an offset, such as Europe/Berlin.",
        autocompletion=zones,
    ),
]
Start = Annotated[
    str | None,
    typer.Option("--start", metavar="TIME", help="No occurrence is before this; a rate counts from it."),
]
End = Annotated[str | None, typer.Option("--end", metavar="TIME", help="No occurrence is after this.")]
ScheduleOption = Annotated[
    str | None,
    typer.Option(
        "--schedule",
        metavar="EXPRESSION",
        help="Recurring: rate(2 hours), which first runs at --start, or two hours from now; cron(…) as AWS "
        "has it, or five cron fields, at the next time that matches; or at(…).",
    ),
]
MissedOption = Annotated[
    Missed | None,
    typer.Option(
        "--missed", help="Occurrences that were missed: made up for once, all of them, or skipped. [once]"
    ),
]
MaxRuns = Annotated[int | None, typer.Option("--max-runs", metavar="N", help="End after so many, 1 or more.")]
Payload = Annotated[
    str | None,
    typer.Option(
        "--payload", metavar="JSON", help="The payload, up to 350 KB and 100 levels; - reads it from stdin."
    ),
]
PayloadFile = Annotated[
    str | None,
    typer.Option("--payload-file", metavar="FILE", help="The payload, in a file of JSON; - is stdin."),
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON for programs.")]
Spread = Annotated[
    str | None,
    typer.Option("--spread", metavar="DURATION", help="Run it up to so long after it is due, at most a day."),
]
ExpiresAfter = Annotated[
    str | None,
    typer.Option("--expires-after", metavar="DURATION", help="Do not run it when it is that late."),
]
StatusOption = Annotated[
    list[Status] | None,
    typer.Option(
        "--status",
        metavar="STATUS",
        help="scheduled, running, paused, done, failed, cancelled, expired; may be repeated. [those in the "
        "queue]",
    ),
]
Action = Annotated[
    str | None,
    typer.Option("--action", metavar="ACTION", help="Of this action.", autocompletion=actions),
]
Prefix = Annotated[str, typer.Option("--prefix", metavar="TEXT", help="Whose ids start with this.")]
After = Annotated[str | None, typer.Option("--after", metavar="TIME", help="Due not earlier than this.")]
Before = Annotated[str | None, typer.Option("--before", metavar="TIME", help="Due not later than this.")]
