"""Forecasts of a queue, and what they assume unless it is given."""

#: The worker: actions that a run has under way at a time, and its memory in MB.
CONCURRENCY, MEMORY = 16, 512

#: The starts that a forecast lists.
LISTED_STARTS = 100
