"""Calls to AWS while deploying. Their errors become DeployFailed, or None in place of an answer."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from duebell_shared.aws.aws_session import way_out

from .errors import DeployFailed

P = ParamSpec("P")
T = TypeVar("T")


def code_of(error: ClientError) -> str:
    """AWS's own name for the error."""
    return str(error.response.get("Error", {}).get("Code", ""))


def answer_unless(codes: Collection[str], call: Callable[P, T], *args: P.args, **given: P.kwargs) -> T | None:
    """Make the call, and return its answer; None if AWS answers with an error of these codes."""
    try:
        return call(*args, **given)
    except ClientError as error:
        if code_of(error) in codes:
            return None
        raise


@contextmanager
def aws_calls(purpose: str) -> Iterator[None]:
    """Turn an error of AWS or of the SDK inside into DeployFailed, which says the purpose of the calls."""
    try:
        yield
    except (ClientError, BotoCoreError) as error:
        raise DeployFailed(f"{purpose}: {error}{way_out(error)}") from error
