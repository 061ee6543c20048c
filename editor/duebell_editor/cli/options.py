"""Arguments and options that several commands have, and the values that their text means."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Annotated, Any, TypeVar
from zoneinfo import ZoneInfo

import typer

from duebell_editor import Missed
from duebell_shared.errors import InvalidSchedule
from duebell_shared.task import Status
from duebell_shared.zones import zone_of

from .completion import actions, ids, profiles, zones
from .context import Context
from .errors import WrongUsage
from .parsing import duration, instant

__all__ = [
    "Action", "After", "AsJson", "Before", "Due", "End", "EndpointUrl", "ExpiresAfter", "Id", "In",
    "MaxRuns", "MissedOption", "Payload", "PayloadFile", "Prefix", "Profile", "Region", "ScheduleOption",
    "Spread", "Start", "StatusOption", "Timezone", "Verbose", "check_order", "due_from", "json_option",
]  # fmt: skip

_Value = TypeVar("_Value")


def _set_account(call: typer.Context, parameter: typer.CallbackParam, value: str | None) -> str | None:
    """Keep a part of the account; an option behind the command wins over the one before it."""
    if value is not None and parameter.name:
        setattr(Context.of(call), parameter.name, value)
    return value


def _set_json(call: typer.Context, *, is_asked: bool) -> bool:
    if is_asked:
        Context.of(call).out.as_json = True
    return is_asked


def _set_verbose(call: typer.Context, *, is_asked: bool) -> bool:
    if is_asked:
        Context.of(call).be_verbose()
    return is_asked


def _meaning(read: Callable[[str, typer.Context, str], _Value]) -> Callable[..., _Value | None]:
    """A callback of typer's that replaces an option's text by the value that `read` finds in it.

    `read` is given the option, too. It raises ValueError with what would be right.
    """

    def callback(call: typer.Context, parameter: typer.CallbackParam, value: str | None) -> _Value | None:
        if value is None:
            return None
        option = parameter.opts[0]
        try:
            return read(value, call, option)
        except InvalidSchedule as error:
            raise WrongUsage(f"{option}: {error.reason}") from error
        except ValueError as error:
            raise WrongUsage(f"{option} {error}") from error

    return callback


def _instant(text: str, call: typer.Context, option: str) -> datetime:
    warn = Context.of(call).out.warn
    return instant(text, call.params.get("timezone"), lambda why: warn(f"{option}: {why}"))


_TIME: Any = {"metavar": "TIME", "parser": str, "callback": _meaning(_instant)}
_DURATION: Any = {
    "metavar": "DURATION",
    "parser": str,
    "callback": _meaning(lambda text, _call, _option: duration(text)),
}
_ZONE: Any = {
    "metavar": "ZONE",
    "parser": str,
    "callback": _meaning(lambda text, _call, _option: zone_of(text)),
    "is_eager": True,  # times that are read after it are in this zone
    "autocompletion": zones,
}

Id = Annotated[str, typer.Argument(metavar="ID", help="The task's id.", autocompletion=ids)]
Due = Annotated[
    datetime | None,
    typer.Option("--due", help="When: ISO-8601, such as 2026-12-31T09:00+01:00; up to 2199.", **_TIME),
]
In = Annotated[
    timedelta | None,
    typer.Option("--in", help="How long from now, such as 90s, 1h30m, 2d10h, 1.5h.", **_DURATION),
]
Timezone = Annotated[
    ZoneInfo | None,
    typer.Option("--timezone", help="Zone of times without an offset, such as Europe/Berlin.", **_ZONE),
]
Start = Annotated[
    datetime | None,
    typer.Option("--start", help="No occurrence is before this; a rate counts from it.", **_TIME),
]
End = Annotated[datetime | None, typer.Option("--end", help="No occurrence is after this.", **_TIME)]
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
Spread = Annotated[
    timedelta | None,
    typer.Option("--spread", help="Run it up to so long after it is due, at most a day.", **_DURATION),
]
ExpiresAfter = Annotated[
    timedelta | None,
    typer.Option("--expires-after", help="Do not run it when it is that late.", **_DURATION),
]
StatusOption = Annotated[
    list[Status] | None,
    typer.Option(
        "--status",
        metavar="STATUS",
        help=f"{', '.join(Status)}; may be repeated. [those in the queue]",
    ),
]
Action = Annotated[
    str | None,
    typer.Option("--action", metavar="ACTION", help="Of this action.", autocompletion=actions),
]
Prefix = Annotated[str, typer.Option("--prefix", metavar="TEXT", help="Whose ids start with this.")]
After = Annotated[datetime | None, typer.Option("--after", help="Due not earlier than this.", **_TIME)]
Before = Annotated[datetime | None, typer.Option("--before", help="Due not later than this.", **_TIME)]


def json_option(help: str = "JSON for programs.") -> Any:
    """The option --json, which the context's output goes by."""
    return typer.Option("--json", callback=_set_json, is_eager=True, help=help)


AsJson = Annotated[bool, json_option()]
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="NAME",
        callback=_set_account,
        help="The AWS profile, whatever the environment says.",
        autocompletion=profiles,
    ),
]
Region = Annotated[
    str | None,
    typer.Option(
        "--region",
        metavar="REGION",
        callback=_set_account,
        help="The AWS region, whatever the environment says.",
    ),
]
EndpointUrl = Annotated[
    str | None,
    typer.Option(
        "--endpoint-url",
        metavar="URL",
        callback=_set_account,
        help="Where AWS is, whatever the environment says.",
    ),
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        callback=_set_verbose,
        is_eager=True,
        help="Say more about errors, and where they came from.",
    ),
]


def due_from(due: datetime | None, in_: timedelta | None, timezone: ZoneInfo | None) -> datetime | timedelta:
    """The due date that --due or --in gives."""
    if due is not None and in_ is not None:
        raise WrongUsage("give --due or --in, not both")
    if in_ is not None and timezone is not None:
        raise WrongUsage("--timezone goes with --due, not with --in")
    when = in_ if due is None else due
    if when is None:
        raise WrongUsage("give --due, a date and time, or --in, a time from now")
    return when


def check_order(after: datetime | None, before: datetime | None) -> None:
    """Raise WrongUsage for a filter that can find nothing."""
    if after and before and after > before:
        raise WrongUsage("--after is later than --before: nothing is between")
