"""Forecasts of a queue, and what they assume unless it is given."""

#: The worker: actions that a run has under way at a time, and its memory in MB.
CONCURRENCY, MEMORY = 16, 512

#: The bounds of these; those of the memory are Lambda's.
MOST_CONCURRENCY = 10_000
LEAST_MEMORY, MOST_MEMORY = 128, 10_240

#: The starts that a forecast lists.
LISTED_STARTS = 100
