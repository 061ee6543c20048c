"""The arming protocol, explored exhaustively: every interleaving of a few editors, runs and faults."""
