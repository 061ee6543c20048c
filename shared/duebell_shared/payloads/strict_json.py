"""Reading JSON that users give. An object with one name twice is refused: only the last would count."""

import json
from typing import Any

from duebell_shared.quoting import quoted

__all__ = ["read"]


def read(text: str) -> Any:
    """The value of a JSON text. Raises ValueError with the reason, RecursionError where it is too deep."""
    return json.loads(text, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise ValueError(f"the name {quoted(name)} is twice in one object")
        made[name] = value
    return made
