"""The error by which a service refuses a request."""

from collections.abc import Mapping, Sequence
from typing import Any


class Refused(Exception):
    """A request that is answered with an error: this status, code and message."""

    def __init__(
        self,
        code: str,
        message: str = "as simulated",
        *,
        status: int = 400,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status
        self.more = more or {}


def canceled(reasons: Sequence[str]) -> Refused:
    """A transaction that has had no effect, and why each of its writes has not."""
    more = {"CancellationReasons": [{"Code": reason} for reason in reasons]}
    return Refused("TransactionCanceledException", f"Transaction cancelled [{', '.join(reasons)}]", more=more)


def invalid(message: str) -> Refused:
    """A request that cannot be read."""
    return Refused("ValidationException", message)
