"""Options that several commands about the stack have."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["ACTIONS", "Actions", "Requirements"]

ACTIONS = typer.Option(
    metavar="MODULE:ATTRIBUTE",
    envvar="DUEBELL_WORKER",
    help="The Worker with your actions; none: deliveries only.",
)
Actions = Annotated[str, ACTIONS]
Requirements = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="What your actions need: a requirements file, or a pyproject.toml."),
]
