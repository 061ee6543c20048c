"""What is said beside the answer, on standard error: warnings, and how far something has come."""

import json
import sys
from collections.abc import Sequence

from .complaining import wants_json
from .text import plain

__all__ = ["is_watched", "tell_some", "warn"]

#: Of many, more than these are only counted, for people.
_SHOWN = 20


def warn(text: str) -> None:
    """Say what may not be meant, in one line; a JSON object for who asked for JSON."""
    if wants_json(sys.argv[1:]):
        print(json.dumps({"warning": text}), file=sys.stderr)
    else:
        print(f"warning: {plain(text)}", file=sys.stderr)


def tell_some(lines: Sequence[str]) -> None:
    """The first of these, and how many more there are."""
    for line in lines[:_SHOWN]:
        print(line, file=sys.stderr)
    if lines[_SHOWN:]:
        print(f"and {len(lines) - _SHOWN:,} more", file=sys.stderr)


def is_watched() -> bool:
    """Whether a person looks at standard error, and may like to know how far something has come."""
    return sys.stderr.isatty()
