"""The mutation check: each line of the protocol broken in turn, in a copy, must make a test fail."""
