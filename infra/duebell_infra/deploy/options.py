"""The options that commands about the stack share, and how their values are read."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from duebell_shared.deliveries.delivery import ENVIRONMENT, deliveries_in
from duebell_shared.quoting import quoted

from .deliveries import Deliveries

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
        metavar="NAME=TARGET",
        help="An action that is a delivery, to an ARN or an https URL; @FILE: those in a JSON file. "
        "Give all, if any; none: no more deliveries. [as before]",
    ),
]
#: The value of --actions for a worker without code of the user's, and of --deliver for no deliveries.
_NONE = "none"


def deliveries_given(deliver: Iterable[str] | None) -> Deliveries | None:
    """The deliveries that the options give; None: those that were deployed before.

    Raises BadParameter, a usage error, and InvalidSettings.
    """
    texts = list(deliver or ())
    if not texts:
        return None
    given: dict[str, Mapping[str, Any]] = {}
    for text in texts if texts != [_NONE] else ():
        several = _in_file(Path(text[1:])) if text.startswith("@") else _one(text)
        if twice := sorted(several.keys() & given.keys()):
            raise typer.BadParameter(f"--deliver {twice[0]} is given twice")
        given |= several
    return given


def actions_given(actions: str | None) -> str | None:
    """The Worker that --actions names; "" for none."""
    return "" if actions == _NONE else actions


def _one(text: str) -> dict[str, Mapping[str, Any]]:
    name, equals, to = text.partition("=")
    if not name or not equals or not to:
        raise typer.BadParameter(f"--deliver {quoted(text)} is not NAME=TARGET, such as remind=arn:aws:sqs:…")
    return {name: {"to": to}}


def _in_file(file: Path) -> dict[str, Mapping[str, Any]]:
    """The deliveries of a file, in the JSON of DUEBELL_DELIVERIES."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"--deliver @{file}: {error}") from None
    deliveries_in(text, where=f"{file}, as {ENVIRONMENT}")
    return dict(json.loads(text.strip() or "{}"))
