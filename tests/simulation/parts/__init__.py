"""What a history may have beside services and runs, each with chances of its own."""
