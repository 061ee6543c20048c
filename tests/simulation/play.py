"""Plays simulated histories from the command line: `make soak`, and the replay of a seed.

python -m tests.simulation.play --count 100000 --start 0        many, a sixth with AWS failing below the SDK
python -m tests.simulation.play --count 100000 --over wire      the same, all of them so
python -m tests.simulation.play --seed 4711 --trace             one, with every call it made

Most have everything in them: limits, pauses, follow-ups, snoozes, pushes, calendars, transactions and
relanes, among all faults.
"""

import argparse
import logging
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import cycle
from random import SystemRandom

from .history import History, Over, Parts
from .parts.batching import Batching
from .parts.following import Following
from .parts.hosting import ACTIONS, Hosting
from .parts.limits import Limits
from .parts.part import LIMITS
from .parts.putting_off import PuttingOff
from .parts.relaning import Relaning
from .parts.resting import Resting
from .parts.timing_out import TimingOut
from .parts.transacting import Transacting
from .weather import CALM, CRASHES, ONE_LANE_OUT, ROUGH

WEATHER = {"calm": CALM, "crashes": CRASHES, "rough": ROUGH, "one-lane-out": ONE_LANE_OUT}

_CHANGED = {"are_changed": True}


def _everything(seed: int) -> Parts:
    """Limits, pauses and most else: all of it with all, over many seeds."""
    return {
        Limits: _CHANGED,
        Following: seed % 5 != 0,
        PuttingOff: seed % 2 == 0,
        Relaning: seed % 3 == 0,
        Transacting: seed % 4 == 0,
        TimingOut: seed % 3 != 1,
        Batching: seed % 4 != 1,
        Resting: seed % 7 < 4,
    }


#: The parts of a history by its seed. Limits hold, in half of the histories with processes, which share them
#: with the Lambda; where they are changed there are always processes.
SCENARIOS: dict[str, Callable[[int], Parts]] = {
    "plain": lambda _: {},
    "everything": _everything,
    "processes": lambda _: {Hosting: True},
    "limits": lambda seed: {Limits: True, Hosting: seed % 2 == 0, Relaning: False},
    "changed-limits": lambda _: {Limits: _CHANGED, Hosting: True, Relaning: False},
}

#: The scenario, weather and store of one batch after the other, unless they are given.
_MIXED = (
    ("plain", "rough", Over.TWIN),
    ("everything", "rough", Over.TWIN),
    ("everything", "one-lane-out", Over.TWIN),
    ("changed-limits", "rough", Over.TWIN),
    ("everything", "rough", Over.WIRE),
    ("everything", "rough", Over.TWIN),
)

_BATCH = 25

Kind = tuple[str, str, Over]


def main() -> int:
    parser = argparse.ArgumentParser(description="Play simulated histories of duebell.")
    parser.add_argument("--scenario", choices=SCENARIOS, help="of many, a mix; of one, everything")
    parser.add_argument("--weather", choices=WEATHER, help="of many, a mix; of one, rough")
    parser.add_argument("--over", choices=Over, type=Over, help="the store: of many, both; of one, the twin")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--processes", type=int, help="processes that play; as many as cores if not given")
    parser.add_argument("--start", type=int, help="first seed; by chance if not given, and printed")
    parser.add_argument("--seed", type=int, help="play this one only")
    parser.add_argument("--trace", action="store_true", help="print every call")
    options = parser.parse_args()
    if options.seed is not None:
        kind = (options.scenario or "everything", options.weather or "rough", options.over or Over.TWIN)
        return _one(options.seed, kind, trace=options.trace)
    start = SystemRandom().randrange(2**40) if options.start is None else options.start
    kinds = tuple(
        (options.scenario or scenario, options.weather or weather, options.over or over)
        for scenario, weather, over in _MIXED
    )
    return _many(range(start, start + options.count), kinds, options.processes)


def play(seed: int, kind: Kind) -> History:
    """Play the history of this seed, of a scenario, in a weather, over a store."""
    scenario, weather, over = kind
    parts = SCENARIOS[scenario](seed)
    actions = ACTIONS if Hosting in parts else tuple(LIMITS)
    return History(seed, WEATHER[weather], over=over, actions=actions, parts=parts).run()


def _one(seed: int, kind: Kind, *, trace: bool) -> int:
    logging.disable(logging.CRITICAL)
    history = play(seed, kind)
    if trace:
        print("\n".join(history.aws.trace))
    for problem in history.problems():
        print(problem)
    print(f"seed {seed}, {_words(kind)}: {len(history.starts)} starts in {history.invocations} invocations")
    return bool(history.problems())


def _many(seeds: range, kinds: tuple[Kind, ...], workers: int | None) -> int:
    broken, starts, crashes = 0, 0, 0
    with ProcessPoolExecutor(workers) as processes:
        batches = (seeds[at : at + _BATCH] for at in range(0, len(seeds), _BATCH))
        played = [
            (kind, processes.submit(_batch, batch, kind))
            for batch, kind in zip(batches, cycle(kinds), strict=False)
        ]
        for kind, job in played:
            found, batch_starts, batch_crashes = job.result()
            starts += batch_starts
            crashes += batch_crashes
            broken += len(found)
            for seed, problems in found:
                print(f"seed {seed}, {_words(kind)}: {'; '.join(problems)}", flush=True)
    played_as = "; ".join(dict.fromkeys(map(_words, kinds)))
    print(
        f"{len(seeds):,} histories ({played_as}) from seed {seeds[0]}: "
        f"{starts:,} starts, {crashes:,} crashes, {broken} broke a promise"
    )
    return bool(broken)


def _words(kind: Kind) -> str:
    scenario, weather, over = kind
    return f"{scenario}, {weather}, over {over}"


def _batch(seeds: range, kind: Kind) -> tuple[list[tuple[int, list[str]]], int, int]:
    logging.disable(logging.CRITICAL)
    found, starts, crashes = [], 0, 0
    for seed in seeds:
        history = play(seed, kind)
        starts += len(history.starts)
        crashes += history.aws.crashes
        if problems := history.problems():
            found.append((seed, problems))
    return found, starts, crashes


if __name__ == "__main__":
    sys.exit(main())
