"""The errors that boto3 raises when AWS refuses a call."""

from botocore.exceptions import ClientError

__all__ = ["refusal"]


def refusal(code: str, message: str) -> ClientError:
    """Return boto3's error with this code."""
    return ClientError({"Error": {"Code": code, "Message": message}}, "Simulated")
