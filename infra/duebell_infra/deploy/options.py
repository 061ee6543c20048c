"""The options that commands about the stack share, and how their values are read."""

import json
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from duebell_shared.deliveries.delivery import ENVIRONMENT, deliveries_in
from duebell_shared.quoting import quoted

from .deliveries import Given

ACTIONS = typer.Option(
    metavar="MODULE:ATTRIBUTE",
    envvar="DUEBELL_WORKER",
    help="The Worker with your actions; none: deliveries only.",
)
Actions = Annotated[str, ACTIONS]
Requirements = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="The libraries of your actions: a requirements file or pyproject.toml."
    ),
]


def pairs(option: str, given: Iterable[str]) -> dict[str, str]:
    """The values by name that repeated `NAME=VALUE` options set. Raises BadParameter, a usage error."""
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise typer.BadParameter(f"{option} {quoted(text)} is not NAME=VALUE")
        if name in found:
            raise typer.BadParameter(f"{option} {name} is given twice")
        found[name] = value
    return found


Deliver = Annotated[
    list[str] | None,
    typer.Option(
        "--deliver",
        metavar="'NAME=TARGET [FIELD=VALUE …]'",
        help="An action that is a delivery, to an ARN or an https URL; @FILE: those in a JSON file.",
    ),
]
NoDeliver = Annotated[
    list[str] | None,
    typer.Option("--no-deliver", metavar="NAME", help="Remove a delivery that was given before."),
]

#: The value of --actions for a worker without code of the user's.
_NONE = "none"


def deliveries_given(deliver: Iterable[str] | None, no_deliver: Iterable[str] | None) -> Given:
    """The deliveries that the options give, and None for each that is taken away.

    Raises BadParameter, a usage error.
    """
    given: dict[str, Mapping[str, Any] | None] = {}
    for text in deliver or ():
        several = _in_file(Path(text[1:])) if text.startswith("@") else _one(text)
        for name, fields in several.items():
            if name in given:
                raise typer.BadParameter(f"--deliver {name} is given twice")
            given[name] = fields
    for name in no_deliver or ():
        if name in given:
            raise typer.BadParameter(f"--deliver {name} and --no-deliver {name}: give one of them")
        given[name] = None
    return given


def without_none(actions: str | None) -> str | None:
    """The Worker that --actions names; "" for none."""
    return "" if actions == _NONE else actions


def _one(text: str) -> dict[str, Mapping[str, Any]]:
    """The delivery of `NAME=TARGET FIELD=VALUE`, separated as a shell does: no ARN or URL has a space."""
    try:
        first, *rest = shlex.split(text)
    except ValueError as error:
        raise typer.BadParameter(f"--deliver {quoted(text)}: {error}") from None
    name, equals, to = first.partition("=")
    if not name or not equals or not to:
        raise typer.BadParameter(f"--deliver {quoted(text)} is not NAME=TARGET, such as remind=arn:aws:sqs:…")
    fields: dict[str, Any] = {"to": to}
    for part in rest:
        field, equals, value = part.partition("=")
        field = field.replace("-", "_")
        if not field or not equals or field in fields:
            raise typer.BadParameter(
                f"--deliver {name}: {quoted(part)} is not FIELD=VALUE, each field once, such as form=envelope"
            )
        fields[field] = int(value) if value.isdecimal() and field == "attempts" else value
    return {name: fields}


def _in_file(file: Path) -> dict[str, Mapping[str, Any]]:
    """The deliveries of a file, in the JSON of DUEBELL_DELIVERIES."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"--deliver @{file}: {error}") from None
    deliveries_in(text, where=f"{file}, as {ENVIRONMENT}")
    return dict(json.loads(text or "{}"))
