"""What happens behind an armer's back, over moto."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from botocore.exceptions import ReadTimeoutError

from duebell_shared.backend import Backend
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.bell.bell import CALL_LIMIT
from tests.support import Clock, minute_of


def at_put_rule(backend: Backend, *happenings: Callable[[], None], when: str = "before") -> None:
    """What happens before each PutRule (or after it, and before its answer arrives), in order."""
    left = list(happenings)

    def happen(**_: Any) -> None:
        if left:
            left.pop(0)()

    backend.rule._client.meta.events.register(f"{when}-call.events.PutRule", happen)


def unanswered(clock: Clock) -> Callable[[], None]:
    """A call that takes as long as one can and gives no answer."""

    def happen() -> None:
        clock.advance(CALL_LIMIT)
        raise ReadTimeoutError(endpoint_url="https://events")

    return happen


def swap(backend: Backend, transition: Callable[[ArmingRecord], ArmingRecord]) -> ArmingRecord:
    """The record as someone else changed it."""
    record = backend.armer.read()
    swapped = backend.store.swap_record(record, transition(record))
    assert swapped
    return swapped


def rings_at(backend: Backend) -> datetime | None:
    """The minute that EventBridge has."""
    return minute_of(backend.rule.read().expression, backend.clock())
