"""The mutation check from the command line: `make mutants`.

python -m tests.mutants                all of the catalogue
python -m tests.mutants watchdog       those with this in their name, or in their file's
python -m tests.mutants --sample 200   so many at random, of the whole product (see sampling.py)
"""

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from typing import TypeVar

from .catalogue import MUTANTS
from .lab import Lab, difference
from .mutant import Killer, Mutant
from .random_mutants import sample
from .sampling import check_sample

T = TypeVar("T")


def main() -> int:
    """Check; the exit status is 1 if a mutant survives, or if the tests fail without any."""
    parser = argparse.ArgumentParser(description="Break each line of duebell's protocol in turn.")
    parser.add_argument(
        "name", nargs="?", default="", help="only mutants with this in their or their file's name"
    )
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time")
    parser.add_argument("--sample", type=int, metavar="N", help="N mutants at random, of the whole product")
    parser.add_argument("--seed", type=int, default=1, help="which ones: another seed, other mutants")
    options = parser.parse_args()
    if options.sample:
        return check_sample(sample(options.sample, options.seed, options.name), options.jobs)
    mutants = [mutant for mutant in MUTANTS if options.name in f"{mutant.name} {mutant.place().module.name}"]
    killers = list(dict.fromkeys(killer for mutant in mutants for killer in mutant.killers))
    started = time.monotonic()
    shares = [list(share) for share in _dealt(mutants, options.jobs)]
    with ThreadPoolExecutor(options.jobs) as pool:
        failures = [
            said for group in pool.map(_fail_unbroken, _dealt(killers, options.jobs)) for said in group
        ]
        if failures:
            print("\n".join(["the tests fail without any mutant:", *failures]))
            return 1
        survivors = [mutant for group in pool.map(_survivors, shares) for mutant in group]
    for mutant in survivors:
        place = mutant.place()
        diff = difference(place.module, place.replaced(mutant.broken))
        print(f"\nSURVIVED: {mutant.name}\n  {mutant.why}\n{diff}")
    seconds = time.monotonic() - started
    print(f"{len(mutants)} mutants, {len(survivors)} survived, {seconds:.0f} seconds")
    return bool(survivors)


def _dealt(things: list[T], hands: int) -> list[list[T]]:
    dealt: list[list[T]] = [[] for _ in range(hands)]
    for hand, thing in zip(cycle(dealt), things, strict=False):
        hand.append(thing)
    return dealt


def _fail_unbroken(killers: list[Killer]) -> list[str]:
    with Lab() as lab:
        return [f"{killer.name}: {said}" for killer in killers if (said := lab.passes(killer))]


def _survivors(mutants: list[Mutant]) -> list[Mutant]:
    survivors = []
    with Lab() as lab:
        for mutant in mutants:
            started = time.monotonic()
            killed = lab.killed_by(mutant)
            seconds = time.monotonic() - started
            by = f"killed by {killed[0].name}: {killed[1][:120]}" if killed else "SURVIVED"
            print(f"{mutant.name} ({seconds:.1f} s): {by}", flush=True)
            if killed is None:
                survivors.append(mutant)
    return survivors


if __name__ == "__main__":
    sys.exit(main())
