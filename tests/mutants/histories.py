"""Plays simulated histories until one breaks a promise: python -m tests.mutants.histories COUNT."""

import logging
import sys

from tests.simulation.history import History
from tests.simulation.weather import CALM, ROUGH


def main(count: int) -> int:
    """The exit status: 1 as soon as a promise is broken. Half of the histories are rough, half calm."""
    logging.disable(logging.CRITICAL)
    for seed in range(count):
        history = History(seed, ROUGH if seed % 2 == 0 else CALM).run()
        if problems := history.problems():
            print(f"seed {seed}: {problems[0]}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
