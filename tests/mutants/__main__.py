"""The mutation check from the command line: `make mutants`.

python -m tests.mutants                all of the catalogue
python -m tests.mutants watchdog       those with this in their name, or in their file's
python -m tests.mutants --sample 200   so many at random, of the whole product (see sampling.py)
"""

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from .catalogue import MUTANTS, Mutant
from .lab import Lab
from .random_mutants import sample
from .sampling import check_sample
from .source import place_of


def main() -> int:
    """Check; the exit status is 1 if a mutant survives, or if the tests fail without any."""
    parser = argparse.ArgumentParser(description="Break conditions of duebell's protocol, one at a time.")
    parser.add_argument(
        "name", nargs="?", default="", help="only mutants with this in their or their file's name"
    )
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time")
    parser.add_argument("--sample", type=int, metavar="N", help="N mutants at random, of the whole product")
    parser.add_argument("--seed", type=int, default=1, help="which ones: another seed, other mutants")
    options = parser.parse_args()
    if options.sample:
        return check_sample(sample(options.sample, options.seed, options.name), options.jobs)
    mutants = [
        mutant
        for mutant in MUTANTS
        if options.name in f"{mutant.name} {place_of(mutant.source, mutant.within)[0].module}"
    ]
    started = time.monotonic()
    with Lab() as lab:
        failures = [
            said for tests in sorted({mutant.tests for mutant in mutants}) if (said := lab.fails(tests))
        ]
    if failures:
        print("\n".join(["the tests fail without any mutant:", *failures]))
        return 1
    with ThreadPoolExecutor(options.jobs) as pool:
        shares = pool.map(_survivors, [mutants[number :: options.jobs] for number in range(options.jobs)])
        survivors = [mutant for share in shares for mutant in share]
    for mutant in survivors:
        place, count = place_of(mutant.source, mutant.within)
        print(f"\nSURVIVED: {mutant.name}\n{place.difference(place.replaced(mutant.broken, count))}")
    print(f"{len(mutants)} mutants, {len(survivors)} survived, {time.monotonic() - started:.0f} seconds")
    return bool(survivors)


def _survivors(mutants: list[Mutant]) -> list[Mutant]:
    survivors = []
    with Lab() as lab:
        for mutant in mutants:
            said = lab.killed_by(mutant)
            print(f"{mutant.name}: {said[:150] if said else 'SURVIVED'}", flush=True)
            if said is None:
                survivors.append(mutant)
    return survivors


if __name__ == "__main__":
    sys.exit(main())
