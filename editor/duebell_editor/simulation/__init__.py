"""Forecasts of a queue, and their default assumptions."""

#: The worker: actions that a run has under way at a time, and its memory in MB.
CONCURRENCY, MEMORY = 16, 512

#: The bounds of both. Lambda sets the bounds of the memory.
MOST_CONCURRENCY = 10_000
LEAST_MEMORY, MOST_MEMORY = 128, 10_240

#: The starts that a forecast lists.
LISTED_STARTS = 100
