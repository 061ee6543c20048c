"""The outcome of a scene with a design in a few words, for the table and the picture."""

from enum import StrEnum

from .outcome import Outcome
from .simulate import Played

__all__ = ["Kind", "cell", "in_words", "kind_of"]

_MINUTE, _HOUR = 60.0, 3600.0

#: A scene is late if a task of it is so many times as late as the latest one at random seconds, and at least
#: so many seconds.
_TIMES, _AT_LEAST = 2, 120.0


class Kind(StrEnum):
    """The severity of an outcome, from fine to lost."""

    FINE = "fine"
    TWICE = "twice"
    LATE = "late"
    LOST = "lost"
    NONE = "not offered"


def kind_of(played: Played, usual: Played) -> Kind:
    """Return the worst that happened; `usual` is the design's scene of random seconds."""
    outcome = played.outcome
    if not played.offers:
        return Kind.NONE
    if outcome.lost or outcome.refused or outcome.undone or outcome.early:
        return Kind.LOST
    if outcome.doubled:
        return Kind.TWICE
    return Kind.LATE if _late(outcome, usual.outcome) else Kind.FINE


def cell(played: Played, usual: Played) -> str:
    """Return what happened, or `fine`."""
    outcome = played.outcome
    if not played.offers:
        return "not offered"
    parts = [
        f"{number} {what}"
        for number, what in (
            (outcome.lost, "lost"),
            (outcome.refused, "refused"),
            (outcome.undone, "cancelled, but done"),
            (outcome.early, "early"),
            (outcome.doubled, "twice"),
        )
        if number
    ]
    if late := _late(outcome, usual.outcome):
        parts.append(f"up to {in_words(late)} late")
    return ", ".join(parts) or "fine"


def in_words(seconds: float) -> str:
    """Write a time with the unit that fits."""
    if seconds < 2 * _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < 2 * _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.0f} h"


def _late(outcome: Outcome, usual: Outcome) -> float | None:
    """Return how late the latest task was, if that is much later than this design usually is."""
    if not outcome.late or not usual.late:
        return None
    limit = max(_TIMES * usual.late.worst, _AT_LEAST)
    return outcome.late.worst if outcome.late.worst > limit else None
