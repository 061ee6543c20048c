"""The cost of duebell, measured beside its alternatives in one run: `make bench`."""
