"""The command `calendar`: calendars of holidays, imported, listed and shown."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from duebell_editor.library.calendars import country_calendar, ics_calendar
from duebell_editor.library.json_fields import plain_values
from duebell_shared.errors import InvalidInput
from duebell_shared.quoting import quoted
from duebell_shared.schedules.calendars import Calendar

from .context import Context
from .options import opened
from .program import examples

app = typer.Typer()


@app.command(
    epilog=examples(
        "calendar import de-be --country DE --subdivision BE --years 2026-2030",
        "calendar import plant --file closures.ics",
        "calendar show de-be",
        "calendar list",
    )
)
def calendar(
    context: Context,
    verb: Annotated[
        Literal["import", "list", "show"], typer.Argument(metavar="VERB", help="import, list or show.")
    ],
    id: Annotated[str, typer.Argument(metavar="[NAME]", help="The calendar's name; not for list.")] = "",
    *,
    country: Annotated[str, typer.Option(metavar="CODE", help="Import its holidays, such as DE.")] = "",
    subdivision: Annotated[str, typer.Option(metavar="CODE", help="Of this part of the country.")] = "",
    years: Annotated[str, typer.Option(metavar="YEARS", help="Of these years, such as 2026-2030.")] = "",
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Import the all-day events of this iCalendar file.")
    ] = None,
) -> None:
    """Schedules take a calendar by --calendar and --holidays. An import replaces the calendar of that name.

    Tasks that use it keep the occurrence that they stand at, and the next one.
    """
    if bool(id) == (verb == "list"):
        raise InvalidInput("NAME", "cannot be combined with list" if id else f"is missing: {verb} needs it")
    if verb == "import":
        if bool(country) == bool(file):
            raise InvalidInput("calendar", "needs --country with --years, or --file")
        made = _of_file(file) if file else country_calendar(country, subdivision or None, _years(years))
        context.editor().import_calendar(id, made)
        context.answer(_summary(id, made))
        return
    found = context.editor().calendars()
    if not id:
        context.answer([_summary(name, one) for name, one in sorted(found.items())])
    elif id in found:
        context.answer(plain_values(found[id]))
    else:
        raise InvalidInput("NAME", f"is unknown, {quoted(id)}: there are {', '.join(found) or 'none'}")


def _summary(name: str, made: Calendar) -> dict[str, Any]:
    return {"name": name, "holidays": len(made.days), "source": made.source, "ends": str(made.ends)}


def _of_file(file: Path) -> Calendar:
    with opened(str(file)) as stream:
        return ics_calendar(stream.read().decode(errors="replace"), source=file.name)


def _years(text: str) -> range:
    found = re.fullmatch(r"(\d{4})(?:-(\d{4}))?", text)
    if not found:
        raise InvalidInput("--years", "must be a year or a range, such as 2026-2030")
    return range(int(found[1]), int(found[2] or found[1]) + 1)
