"""Changes of the arming record by another process, over moto."""

from collections.abc import Callable

from duebell_shared.backend import Backend
from duebell_shared.bell.arming import ArmingRecord


def swap(backend: Backend, transition: Callable[[ArmingRecord], ArmingRecord]) -> ArmingRecord:
    """The record as someone else changed it."""
    record = backend.armer.read()
    swapped = backend.store.swap_record(record, transition(record))
    assert swapped
    return swapped
