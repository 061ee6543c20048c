"""The findings of a verify, for people and for programs."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

__all__ = ["Answer", "Finding", "Result"]


class Result(StrEnum):
    """The result of a check."""

    OK = "ok"
    SLOWER = "slower path"
    FAILED = "failed"
    SKIPPED = "skipped"


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """AWS's answer to one call.

    operation     such as PutItem
    milliseconds  how long it took, with the SDK's retries
    code          the error's code; None if the call was made
    message       AWS's text of the error
    retries       how often the SDK tried again
    statements    of a batch, the error's code of each statement, None if it was made
    """

    operation: str
    milliseconds: float
    code: str | None = None
    message: str | None = None
    retries: int = 0
    statements: tuple[str | None, ...] = ()


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one check.

    check    its name, which does not change between versions
    result   how it ended
    found    what was found, or why the check was not made
    way_out  what to do, if it is not ok
    lacks    the permission that its caller lacks
    figures  numbers that were measured, by name
    answers  AWS's answers, in order
    """

    check: str
    result: Result
    found: str
    way_out: str | None = None
    lacks: str | None = None
    figures: Mapping[str, float] = {}
    answers: tuple[Answer, ...] = ()
