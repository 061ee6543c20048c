"""Arguments and options that several commands have."""

from typing import Annotated

import typer

from duebell_editor import Missed

__all__ = [
    "AsJson",
    "Due",
    "End",
    "ExpiresAfter",
    "Id",
    "In",
    "MaxRuns",
    "MissedOption",
    "Payload",
    "PayloadFile",
    "ScheduleOption",
    "Spread",
    "Start",
    "Timezone",
]

Id = Annotated[str, typer.Argument(metavar="ID", help="The task's id.")]
Due = Annotated[
    str | None, typer.Option("--due", metavar="TIME", help="When: ISO-8601, such as 2026-12-31T09:00+01:00.")
]
In = Annotated[
    str | None, typer.Option("--in", metavar="DURATION", help="How long from now, such as 90s, 1h30m, 2d10h.")
]
Timezone = Annotated[
    str | None,
    typer.Option(
        "--timezone", metavar="ZONE", help="Zone of times without an offset, such as Europe/Berlin."
    ),
]
Start = Annotated[str | None, typer.Option("--start", metavar="TIME", help="No occurrence is before this.")]
End = Annotated[str | None, typer.Option("--end", metavar="TIME", help="No occurrence is after this.")]
ScheduleOption = Annotated[
    str | None,
    typer.Option(
        "--schedule", metavar="EXPRESSION", help="Recurring: rate(…), cron(…), five cron fields, or at(…)."
    ),
]
MissedOption = Annotated[
    Missed | None, typer.Option("--missed", help="What becomes of occurrences that were missed. [once]")
]
MaxRuns = Annotated[int | None, typer.Option("--max-runs", metavar="N", help="End after so many.")]
Payload = Annotated[
    str | None, typer.Option("--payload", metavar="JSON", help="The payload; - reads it from stdin.")
]
PayloadFile = Annotated[
    str | None,
    typer.Option("--payload-file", metavar="FILE", help="The payload, in a file of JSON; - is stdin."),
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON for programs.")]
Spread = Annotated[
    str | None, typer.Option("--spread", metavar="DURATION", help="Run it up to so long after it is due.")
]
ExpiresAfter = Annotated[
    str | None,
    typer.Option("--expires-after", metavar="DURATION", help="Do not run it when it is that late."),
]
