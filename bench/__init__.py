"""What duebell costs, measured beside what one would take instead, in one run: `make bench`."""
