"""What a service refuses, as it says so."""

__all__ = ["Refused", "invalid"]


class Refused(Exception):
    """A request that is answered with an error: this status, code and message."""

    def __init__(self, code: str, message: str = "as simulated", *, status: int = 400) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status


def invalid(message: str) -> Refused:
    """A request that cannot be read."""
    return Refused("ValidationException", message)
