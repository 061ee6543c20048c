"""The lane of a task, from its id."""

import zlib
from collections.abc import Sequence

__all__ = ["lane_of", "places_of"]


def lane_of(id: str, lanes: int) -> int:
    """The lane of the task with this id: a hash that is the same everywhere and for ever."""
    return zlib.crc32(id.encode()) % lanes


def places_of(id: str, counts: Sequence[int]) -> list[int]:
    """The lanes that a task with this id may be in, by these numbers of lanes: each once, in their order."""
    return list(dict.fromkeys(lane_of(id, lanes) for lanes in counts))
