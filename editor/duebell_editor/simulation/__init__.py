"""Forecasts of a queue, and the numbers that they assume unless others are given."""

from typing import NamedTuple


class Assumed(NamedTuple):
    """A number that a forecast assumes, its meaning and its bounds."""

    means: str
    default: int
    least: int
    most: int


CONCURRENCY = Assumed("Actions that a run has at a time", 16, least=1, most=10_000)

#: The bounds are Lambda's.
MEMORY = Assumed("The worker's memory in MB, for the cost", 512, least=128, most=10_240)

#: The starts that a forecast lists.
LISTED_STARTS = 100
