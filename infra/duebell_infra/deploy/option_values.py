"""Values of the command line's options that are made of parts."""

from collections.abc import Iterable

import typer

from duebell_shared.quoting import quoted

__all__ = ["bounds", "pairs"]


def bounds(option: str, name: str, given: str | None) -> dict[str, str]:
    """The parameters `Min<name>` and `Max<name>` that `MIN:MAX` gives. Raises BadParameter, a usage error."""
    if given is None:
        return {}
    least, colon, most = given.partition(":")
    if not (colon and least.isdecimal() and most.isdecimal() and 1 <= int(least) <= int(most)):
        raise typer.BadParameter(f"{option} {quoted(given)} is not MIN:MAX, two numbers from 1 on")
    return {f"Min{name}": least, f"Max{name}": most}


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
