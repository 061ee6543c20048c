"""What the modules beside the Editor need of one: its queue, how many lanes that has, and its clock."""

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from duebell_shared.arming import ArmingRecord
from duebell_shared.store import Store

from .editor import Editor

__all__ = ["Inside", "inside"]


class Inside(NamedTuple):
    """The inside of an editor, for reading."""

    store: Store
    lanes: int
    clock: Callable[[], datetime]
    read_record: Callable[[], ArmingRecord]


def inside(editor: Editor) -> Inside:
    """What this editor stands on."""
    backend = editor._backend  # noqa: SLF001 - part of the editor, in a file of its own
    return Inside(backend.store, editor._lanes, backend.clock, backend.armer.read)  # noqa: SLF001
