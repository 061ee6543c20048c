"""What Lambda gives a handler, and the error of an invocation that shall fail."""

from typing import Protocol

__all__ = ["FailedOnPurpose", "LambdaContext"]


class FailedOnPurpose(Exception):
    """The error of an invocation that `duebell verify --dead-letter` makes fail."""


class LambdaContext(Protocol):
    """The context that Lambda gives a handler, as far as the worker uses it."""

    def get_remaining_time_in_millis(self) -> int:
        """The time until Lambda ends this invocation, in milliseconds."""
