"""Parts that a history may have beside services and runs. Each has chances of its own."""
