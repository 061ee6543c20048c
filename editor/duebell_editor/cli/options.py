"""Options of several commands: their text as times, durations, payloads."""

import re
import sys
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, BinaryIO, TypeVar
from zoneinfo import ZoneInfo

import typer
from msgspec import UNSET
from msgspec.structs import replace

from duebell_editor.listing.filters import FILTERS
from duebell_shared.errors import InvalidSchedule
from duebell_shared.instants import parse
from duebell_shared.payloads.payload import read_json
from duebell_shared.quoting import quoted, shortened
from duebell_shared.schedules.wall_clock import instant_of
from duebell_shared.schedules.zones import zone_of
from duebell_shared.tasks.fields import FIELDS, Field, FieldKind
from duebell_shared.tasks.follow_up import Then, read_then

from .context import flag, option, with_options
from .errors import WrongUsage

_UNITS = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_PART = r"([0-9]+(?:\.[0-9]+)?)([wdhms])"


def duration(text: str) -> timedelta:
    """Read `90s`, `1h30m`, `2d 10h`, `1.5h`. Raises ValueError with the allowed forms."""
    compact = text.replace(" ", "")
    if not re.fullmatch(f"(?:{_PART})+", compact):
        raise ValueError(
            f"{quoted(text)} is not a length of time: give weeks, days, hours, minutes, seconds, such as "
            f"90s, 45m, 1h30m, 2d10h"
        )
    parts = [{_UNITS[unit]: float(count)} for count, unit in re.findall(_PART, compact)]
    try:
        return sum((timedelta(**part) for part in parts), timedelta())
    except (OverflowError, ValueError):
        raise ValueError(f"{shortened(text)} is too far away") from None


def instant(text: str, zone: ZoneInfo | None) -> datetime:
    """Read an ISO-8601 time; without an offset it is in `zone`, which must then be given.

    Raises ValueError with the way out.
    """
    try:
        shown = datetime.fromisoformat(text)
        if shown.tzinfo is not None:
            return parse(text)
    except ValueError:
        raise ValueError(f"{text} is not an ISO-8601 date and time, such as 2026-12-31T09:00Z") from None
    if zone is None:
        raise ValueError(
            f"{text} has no offset: end it with Z for UTC or with +01:00 and the like, or name its zone, as "
            f"in --timezone Europe/Berlin"
        )
    try:
        return instant_of(shown, zone)
    except OverflowError:
        raise ValueError(f"{text} is too far away") from None


def payload_from(text: str | None, file: str | None) -> Any:
    """The JSON value that --payload or --payload-file gives; UNSET if neither does."""
    if text is not None and file is not None:
        raise WrongUsage("give either --payload or --payload-file")
    try:
        if text is not None:
            return read_json(text)
        if file is not None:
            with opened(file) as stream:
                return read_json(stream.read())
    except ValueError as error:
        raise WrongUsage(f"the payload is not JSON: {error}") from error
    return UNSET


def opened(file: str) -> AbstractContextManager[BinaryIO]:
    """Open a file for reading, `-` being standard input."""
    return nullcontext(sys.stdin.buffer) if file == "-" else Path(file).open("rb")


_Function = TypeVar("_Function", bound=Callable[..., Any])


def _read(read: Callable[[str, typer.Context], object]) -> Any:
    """Settings of an option whose text `read` converts to a value; `read` may raise ValueError."""

    def callback(call: typer.Context, parameter: typer.CallbackParam, text: str | None) -> object:
        option = parameter.opts[0]
        try:
            return None if text is None else read(text, call)
        except InvalidSchedule as error:
            raise WrongUsage(f"{option}: {error.reason}") from error
        except ValueError as error:
            raise WrongUsage(f"{option} {error}") from error

    return {"parser": str, "callback": callback}


Id = Annotated[str, typer.Argument(metavar="ID", help="The task's id.")]
Timezone = Annotated[
    ZoneInfo | None,
    option(
        "--timezone", "ZONE", "Zone of times without an offset, such as Europe/Berlin.",
        is_eager=True,  # the times are read in it
        **_read(lambda text, _: zone_of(text)),
    ),
]  # fmt: skip


def due_from(due: datetime | None, in_: timedelta | None) -> datetime | timedelta:
    """The due date that --due or --in gives."""
    if due is not None and in_ is not None:
        raise WrongUsage("give --due or --in, not both")
    when = in_ if due is None else due
    if when is None:
        raise WrongUsage("give --due, a date and time, or --in, a time from now")
    return when


def _follow_up(text: str) -> Then:
    """Read the name of an action, or the follow-up in the JSON of the API."""
    if not text.startswith("{"):
        return Then(text)
    try:
        return read_then(read_json(text))
    except ValueError as error:
        raise ValueError(f"is not JSON: {error}") from error


#: By the form of a field: the type of its value, if it is not text; and the settings of its option.
_TYPES: dict[str, Any] = {"texts": list, "time": datetime, "duration": timedelta, "number": int, "task": Then}
_FORMS: dict[str, dict[str, Any]] = {
    "text": {"metavar": "TEXT"},
    "search": {"metavar": "TEXT"},
    "action": {"metavar": "ACTION"},
    "task": {"metavar": "ACTION or JSON", **_read(lambda text, _: _follow_up(text))},
    "time": {"metavar": "TIME", **_read(lambda text, call: instant(text, call.params.get("timezone")))},
    "duration": {"metavar": "DURATION", **_read(lambda text, _: duration(text))},
    "texts": {"metavar": "A,B", **_read(lambda text, _: text.split(","))},
    "number": {"metavar": "N"},
    "json": {"metavar": "JSON"},
    "choice": {},
    "choices": {"metavar": "NAME"},
}
#: Fields of these forms have no `--no-…`.
_KEPT = {"choice", "json", "zone"}


def with_filters(statuses: Collection[str] = ()) -> Callable[[_Function], _Function]:
    """Give a command the options of a filter of tasks: see `filters_from`.

    statuses  those of the filter without `--status`; if not given, those in the queue
    """
    status = FILTERS["status"]
    status = replace(status, unset=", ".join(sorted(statuses))) if statuses else status
    return with_fields(*FILTERS, of={**FILTERS, "status": status})


def filters_from(given: Mapping[str, Any]) -> dict[str, Any]:
    """The filter that the options of `with_filters` give. Raises BadParameter, a usage error."""
    for name, value in given.items():
        if name in FILTERS and value == "":  # such as of a variable that is not set: it would fit all tasks
            raise typer.BadParameter(f"--{name} must not be empty: leave it out for all tasks")
    return {name: value for name, value in given.items() if name in FILTERS and value}


def with_fields(
    *names: str, in_change: bool = False, of: Mapping[str, Field] = FIELDS
) -> Callable[[_Function], _Function]:
    """Give a command the options of these fields of a task, in place of its `**given`: see `fields_from`.

    of         the rows of the fields
    in_change  with `--no-…` for fields that can be reset
    """
    every: dict[str, Any] = {}
    for name in names:
        row = of[name]
        form, shown, unset = row.kind.form, f"--{name.replace('_', '-')}", row.unset
        help = f"{row.means}. [{unset}]" if unset and not in_change else row.means
        every["in_" if name == "in" else name] = Timezone if form == "zone" else _of(row.kind, shown, help)
        if form == "json":
            in_file = option(f"{shown}-file", "FILE", "The same, in a file; - is stdin")
            every[f"{name}_file"] = Annotated[str | None, in_file]
        if in_change and unset and form not in _KEPT:
            every[f"no_{name}"] = Annotated[
                bool, flag(f"--no-{shown[2:]}", f"Back to the default of {shown}: {unset}")
            ]
    return lambda command: with_options(command, every)


def _of(kind: FieldKind, name: str, help: str) -> Any:
    """The option of this name for values of this kind."""
    type: Any = _TYPES.get(kind.form, str)
    if kind.form in {"choice", "choices"}:
        make_choices: Any = StrEnum
        choices = kind.schema.get("items", kind.schema)["enum"]
        type = make_choices("Choice", [(one, one) for one in choices])
        type = list[type] if kind.form == "choices" else type
    return Annotated[type | None, typer.Option(name, help=help, **_FORMS[kind.form])]


def fields_from(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a task that options of `with_fields` give, except the due date and the time zone."""
    fields: dict[str, Any] = {}
    for name, row in FIELDS.items():
        if name not in given or name in {"due", "timezone"}:
            continue
        value = given[name]
        if row.kind.form == "json":
            value = payload_from(value, given[f"{name}_file"])
        elif value is None:
            value = UNSET
        if value is not UNSET:
            fields[name] = value
        if given.get(f"no_{name}"):
            if name in fields:
                option = name.replace("_", "-")
                raise WrongUsage(f"give either --{option} or --no-{option}")
            fields[name] = None
    return fields
