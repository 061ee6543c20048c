"""Arguments and options that several commands have. Those for times and durations give values, not text."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer
from msgspec import UNSET

from duebell_editor import Missed, Then
from duebell_editor.listing.filters import Listed
from duebell_shared.errors import InvalidSchedule
from duebell_shared.schedules.zones import zone_of

from .completion import actions, ids, names, profiles, zones
from .context import Context
from .errors import WrongUsage
from .parsing import duration, instant, payload_from

__all__ = [
    "Action", "After", "AtMost", "Before", "Due", "End", "EndpointUrl", "Error", "ExpiresAfter", "Id", "In",
    "MaxRuns", "MissedOption", "Name", "OnFailed", "Payload", "PayloadFile", "Prefix", "Profile", "Region",
    "ScheduleOption", "Spread", "Start", "StatusOption", "Text", "ThenAfter", "ThenOption", "ThenPayload",
    "Timezone", "Verbose", "check_order", "due_from", "flag", "json_option", "option", "then_from",
]  # fmt: skip


def option(name: str, metavar: str, help: str, **more: Any) -> Any:
    """An option with a value."""
    return typer.Option(name, metavar=metavar, help=help, **more)


def flag(name: str, help: str, *more: str) -> Any:
    """An option without a value; `more` are its other names."""
    return typer.Option(name, *more, help=help)


def _read(read: Callable[[str, typer.Context, str], object]) -> Any:
    """Settings of an option whose text `read` converts to a value; `read` may raise ValueError."""

    def callback(call: typer.Context, parameter: typer.CallbackParam, text: str | None) -> object:
        option = parameter.opts[0]
        try:
            return None if text is None else read(text, call, option)
        except InvalidSchedule as error:
            raise WrongUsage(f"{option}: {error.reason}") from error
        except ValueError as error:
            raise WrongUsage(f"{option} {error}") from error

    return {"parser": str, "callback": callback}


def _instant(text: str, call: typer.Context, option: str) -> datetime:
    warn = Context.of(call).out.warn
    return instant(text, call.params.get("timezone"), lambda why: warn(f"{option}: {why}"))


def _time(name: str, help: str) -> Any:
    return option(name, "TIME", help, **_read(_instant))


def _duration(name: str, help: str) -> Any:
    return option(name, "DURATION", help, **_read(lambda text, *_: duration(text)))


def _account(name: str, metavar: str, what: str, **more: Any) -> Any:
    """An option that sets a field of the context. Given after the command, it wins over one before it."""

    def keep(call: typer.Context, parameter: typer.CallbackParam, value: str | None) -> str | None:
        if value is not None:
            setattr(Context.of(call), parameter.name or "", value)
        return value

    return option(name, metavar, f"{what}, whatever the environment says.", callback=keep, **more)


def _set_json(call: typer.Context, *, is_asked: bool) -> bool:
    Context.of(call).out.as_json |= is_asked
    return is_asked


def _set_verbose(call: typer.Context, *, is_asked: bool) -> bool:
    if is_asked:
        Context.of(call).be_verbose()
    return is_asked


def json_option(help: str) -> Any:
    """The option --json, which sets the format of the context's output."""
    return typer.Option("--json", callback=_set_json, is_eager=True, help=help)


Name = Annotated[
    str | None,
    _account(
        "--name",
        "NAME",
        "The scheduler's name, which finds table, rule, function, region and profile; `local` is that of "
        "`duebell local` (DUEBELL_NAME)",
        autocompletion=names,
    ),
]
Profile = Annotated[str | None, _account("--profile", "NAME", "The AWS profile", autocompletion=profiles)]
Region = Annotated[str | None, _account("--region", "REGION", "The AWS region")]
EndpointUrl = Annotated[str | None, _account("--endpoint-url", "URL", "Where AWS is")]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose", "-v", callback=_set_verbose, help="Say more about errors, and where they came from."
    ),
]

Id = Annotated[str, typer.Argument(metavar="ID", help="The task's id.", autocompletion=ids)]
Due = Annotated[
    datetime | None, _time("--due", "When: ISO-8601, such as 2026-12-31T09:00+01:00; up to 2199.")
]
In = Annotated[timedelta | None, _duration("--in", "How long from now, such as 90s, 1h30m, 2d10h, 1.5h.")]
Timezone = Annotated[
    ZoneInfo | None,
    option(
        "--timezone", "ZONE", "Zone of times without an offset, such as Europe/Berlin.",
        is_eager=True,  # the times are read in it
        autocompletion=zones, **_read(lambda text, *_: zone_of(text)),
    ),
]  # fmt: skip
Start = Annotated[datetime | None, _time("--start", "No occurrence is before this; a rate counts from it.")]
End = Annotated[datetime | None, _time("--end", "No occurrence is after this.")]
ScheduleOption = Annotated[
    str | None,
    option(
        "--schedule",
        "EXPRESSION",
        "Recurring: rate(2 hours), which first runs at --start, or two hours from now; cron(…) as AWS "
        "has it, or five cron fields, at the next time that matches; or at(…).",
    ),
]
MissedOption = Annotated[
    Missed | None,
    typer.Option(
        "--missed", help="Occurrences that were missed: made up for once, all of them, or skipped. [once]"
    ),
]
MaxRuns = Annotated[int | None, option("--max-runs", "N", "End after this many runs, 1 or more.")]
Payload = Annotated[
    str | None,
    option("--payload", "JSON", "The payload, up to 350 KB and 100 levels; - reads it from stdin."),
]
PayloadFile = Annotated[
    str | None, option("--payload-file", "FILE", "The payload, in a file of JSON; - is stdin.")
]
AtMost = Annotated[
    timedelta | None,
    _duration("--at-most", "With --if-exists push: due so long after the first add at the latest."),
]
Spread = Annotated[timedelta | None, _duration("--spread", "Delay it by up to this long, at most a day.")]
ExpiresAfter = Annotated[
    timedelta | None, _duration("--expires-after", "Do not run it when it is that late.")
]
Priority = Annotated[
    int | None, option("--priority", "N", "0 to 9: of what waits, higher ones go first. [0]")
]
OnFailed = Annotated[
    str | None,
    option("--on-failed", "ACTION", "The action or delivery that is given it when it has failed for good."),
]
ThenOption = Annotated[
    str | None,
    option("--then", "ACTION", "The action of a task that is added when it is done."),
]
ThenPayload = Annotated[
    str | None, option("--then-payload", "JSON", "With --then: that task's payload, up to 32 KB.")
]
ThenAfter = Annotated[
    timedelta | None, _duration("--then-after", "With --then: that task is due so long after. [0]")
]
StatusOption = Annotated[
    list[Listed] | None,
    option("--status", "STATUS", f"{', '.join(Listed)}; may be repeated. [those in the queue]"),
]
Action = Annotated[str | None, option("--action", "ACTION", "Of this action.", autocompletion=actions)]
Error = Annotated[
    str | None, option("--error", "TYPE", "Whose last failure is of this type, such as TimeoutError.")
]
Text = Annotated[str, option("--text", "TEXT", "With this in the id or in the payload.")]
Prefix = Annotated[str, option("--prefix", "TEXT", "Whose ids start with this.")]
After = Annotated[datetime | None, _time("--after", "Due not earlier than this.")]
Before = Annotated[datetime | None, _time("--before", "Due not later than this.")]


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


def then_from(action: str | None, payload: str | None, after: timedelta | None) -> Then | None:
    """The follow-up that --then and the options beside it give."""
    if action is None:
        if payload is not None or after is not None:
            raise WrongUsage("--then-payload and --then-after go with --then")
        return None
    value = payload_from(payload, None)
    return Then(action, None if value is UNSET else value, after or timedelta(0))


def check_order(after: datetime | None, before: datetime | None) -> None:
    """Raise WrongUsage for a filter that can find nothing."""
    if after and before and after > before:
        raise WrongUsage("--after is later than --before: nothing is between")
