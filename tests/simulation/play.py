"""Plays simulated histories from the command line: `make soak`, and the replay of a seed.

python -m tests.simulation.play --count 100000 --start 0        many, a fifth with AWS failing below the SDK
python -m tests.simulation.play --count 100000 --over wire      the same, all of them so
python -m tests.simulation.play --seed 4711 --trace             one, with every call it made
"""

import argparse
import logging
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import cycle
from random import SystemRandom

from .history import History, Over
from .weather import CALM, ONE_LANE_OUT, ROUGH

_WEATHER = {"calm": CALM, "rough": ROUGH, "one-lane-out": ONE_LANE_OUT}

#: In what weather and over what one batch after the other is played, unless that is given. The wire takes
#: four times longer.
_MIXED = (
    ("rough", Over.TWIN),
    ("rough", Over.TWIN),
    ("rough", Over.TWIN),
    ("one-lane-out", Over.TWIN),
    ("rough", Over.WIRE),
)

_BATCH = 200


def main() -> int:
    """Play, and say what was found; the exit status is 1 if a promise was broken."""
    parser = argparse.ArgumentParser(description="Play simulated histories of duebell.")
    parser.add_argument("--weather", choices=_WEATHER, help="of many, a mix of the last two; of one, rough")
    parser.add_argument("--over", choices=Over, type=Over, help="the store: of many, both; of one, the twin")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--start", type=int, help="first seed; by chance if not given, and printed")
    parser.add_argument("--seed", type=int, help="play this one only")
    parser.add_argument("--trace", action="store_true", help="print every call")
    options = parser.parse_args()
    if options.seed is not None:
        return _one(options.seed, options.weather or "rough", options.over or Over.TWIN, trace=options.trace)
    start = SystemRandom().randrange(2**40) if options.start is None else options.start
    kinds = tuple((options.weather or weather, options.over or over) for weather, over in _MIXED)
    return _many(range(start, start + options.count), kinds)


def _one(seed: int, weather: str, over: Over, *, trace: bool) -> int:
    logging.disable(logging.CRITICAL)
    history = History(seed, _WEATHER[weather], over=over).run()
    if trace:
        print("\n".join(history.aws.trace))
    for problem in history.problems():
        print(problem)
    print(
        f"seed {seed}, {weather}, over {over}: "
        f"{len(history.starts)} starts in {history.invocations} invocations"
    )
    return bool(history.problems())


def _many(seeds: range, kinds: tuple[tuple[str, Over], ...]) -> int:
    broken, starts, crashes = 0, 0, 0
    with ProcessPoolExecutor() as processes:
        batches = (seeds[at : at + _BATCH] for at in range(0, len(seeds), _BATCH))
        played = [
            (weather, over, processes.submit(_batch, batch, weather, over))
            for batch, (weather, over) in zip(batches, cycle(kinds), strict=False)
        ]
        for weather, over, job in played:
            found, batch_starts, batch_crashes = job.result()
            starts += batch_starts
            crashes += batch_crashes
            broken += len(found)
            for seed, problems in found:
                print(f"seed {seed}, {weather}, over {over}: {'; '.join(problems)}", flush=True)
    played_as = ", ".join(dict.fromkeys(f"{weather} over {over}" for weather, over in kinds))
    print(
        f"{len(seeds):,} histories, {played_as}, from seed {seeds[0]}: "
        f"{starts:,} starts, {crashes:,} crashes, {broken} broke a promise"
    )
    return bool(broken)


def _batch(seeds: range, weather: str, over: Over) -> tuple[list[tuple[int, list[str]]], int, int]:
    logging.disable(logging.CRITICAL)
    found, starts, crashes = [], 0, 0
    for seed in seeds:
        history = History(seed, _WEATHER[weather], over=over).run()
        starts += len(history.starts)
        crashes += history.aws.crashes
        if problems := history.problems():
            found.append((seed, problems))
    return found, starts, crashes


if __name__ == "__main__":
    sys.exit(main())
