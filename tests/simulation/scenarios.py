"""The scenarios that are played: what is in a history."""

from collections.abc import Callable

from .history import History, Over, Parts
from .parts.batching import Batching
from .parts.following import Following
from .parts.hosting import ACTIONS, Hosting
from .parts.limits import Limits
from .parts.putting_off import PuttingOff
from .parts.relaning import Relaning
from .parts.resting import Resting
from .parts.timing_out import TimingOut
from .parts.transacting import Transacting
from .weather import CALM, CRASHES, ONE_LANE_OUT, ROUGH, Faults

WEATHER = {"calm": CALM, "crashes": CRASHES, "rough": ROUGH, "one-lane-out": ONE_LANE_OUT}

_CHANGED = {"are_changed": True}


def everything(seed: int, faults: Faults, *, over: Over = Over.TWIN) -> History:
    """A history with limits, pauses and most else: all of it with all, over many seeds."""
    parts: Parts = {
        Limits: _CHANGED,
        Following: seed % 5 != 0,
        PuttingOff: seed % 2 == 0,
        Relaning: seed % 3 == 0,
        Transacting: seed % 4 == 0,
        TimingOut: seed % 3 != 1,
        Batching: seed % 4 != 1,
        Resting: seed % 7 < 4,
    }
    return History(seed, faults, over=over, parts=parts)


def _processes(seed: int, faults: Faults, *, over: Over = Over.TWIN) -> History:
    return History(seed, faults, over=over, actions=ACTIONS, parts={Hosting: True})


def _limits(seed: int, faults: Faults, *, over: Over = Over.TWIN) -> History:
    """Limits that hold, in half of the histories with processes, which share them with the Lambda."""
    parts: Parts = {Limits: True, Hosting: seed % 2 == 0, Relaning: False}
    return History(seed, faults, over=over, actions=ACTIONS, parts=parts)


def _changed_limits(seed: int, faults: Faults, *, over: Over = Over.TWIN) -> History:
    parts: Parts = {Limits: _CHANGED, Hosting: True, Relaning: False}
    return History(seed, faults, over=over, actions=ACTIONS, parts=parts)


#: By their names on the command line. Those of limits have long-running processes, too.
SCENARIOS: dict[str, Callable[..., History]] = {
    "plain": History,
    "everything": everything,
    "processes": _processes,
    "limits": _limits,
    "changed-limits": _changed_limits,
}
