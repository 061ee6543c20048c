"""Text of the command line as values."""

from collections.abc import Iterable

import typer

from duebell_shared.quoting import quoted

__all__ = ["pairs"]


def pairs(option: str, given: Iterable[str]) -> dict[str, str]:
    """What `NAME=VALUE`, given so many times, says. Raises BadParameter, a usage error."""
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise typer.BadParameter(f"{option} {quoted(text)} is not NAME=VALUE")
        if name in found:
            raise typer.BadParameter(f"{option} {name} is given twice")
        found[name] = value
    return found
