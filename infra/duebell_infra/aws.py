"""Calls to AWS made while deploying: their errors as ours."""

from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError

from .errors import DeployFailed

__all__ = ["aws_calls", "code_of"]


def code_of(error: ClientError) -> str:
    """AWS's own name for the error."""
    return str(error.response.get("Error", {}).get("Code", ""))


@contextmanager
def aws_calls(purpose: str) -> Iterator[None]:
    """Turn what AWS or the SDK raises inside into DeployFailed, saying what was being done."""
    try:
        yield
    except (ClientError, BotoCoreError) as error:
        raise DeployFailed(f"{purpose}: {error}") from error
