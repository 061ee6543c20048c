"""What is said beside the answer, on standard error: warnings, and how far something has come."""

import json
import sys

from .complaining import wants_json
from .text import plain

__all__ = ["is_watched", "warn"]


def warn(text: str) -> None:
    """Say what may not be meant, in one line; a JSON object for who asked for JSON."""
    if wants_json(sys.argv[1:]):
        print(json.dumps({"warning": text}), file=sys.stderr)
    else:
        print(f"warning: {plain(text)}", file=sys.stderr)


def is_watched() -> bool:
    """Whether a person looks at standard error, and may like to know how far something has come."""
    return sys.stderr.isatty()
