"""duebell inside frameworks; each needs its framework to be installed."""
