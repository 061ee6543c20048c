"""The option `--intake`, which makes the intake queue or takes it away."""

from typing import Annotated

import typer

__all__ = ["Intake", "intake_parameter"]

Intake = Annotated[
    bool | None,
    typer.Option(
        "--intake/--no-intake",
        help="An SQS queue whose messages add and change tasks. [no, or as before]",
        show_default=False,
    ),
]


def intake_parameter(*, intake: bool | None) -> dict[str, str]:
    """The template's parameter; none if the option was not given, which leaves the queue as it was."""
    return {} if intake is None else {"Intake": "yes" if intake else "no"}
