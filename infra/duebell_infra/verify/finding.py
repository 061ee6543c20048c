"""What a check finds: its result, what AWS answered, and what to do about it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

import msgspec

__all__ = ["Answer", "Finding", "Found", "NotMade", "Result", "Wrong"]


class Result(StrEnum):
    """How a check ended."""

    OK = "ok"
    SLOWER = "slower path"
    FAILED = "failed"
    SKIPPED = "skipped"


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What AWS answered to one call.

    operation     such as PutItem
    milliseconds  how long it took, with the SDK's retries
    code          the error's code; None if the call was made
    message       what AWS says of the error
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
    """What came of one check.

    check    its name, which does not change between versions
    result   how it ended
    found    what was found, or why the check was not made
    way_out  what to do, if it is not ok
    lacks    the permission that whoever ran it does not have
    figures  numbers that were measured, by name
    answers  what AWS answered, in order
    """

    check: str
    result: Result
    found: str
    way_out: str | None = None
    lacks: str | None = None
    figures: Mapping[str, float] = {}
    answers: tuple[Answer, ...] = ()


class Found(NamedTuple):
    """What a check returns: all is well, or a slower path was taken."""

    text: str
    result: Result = Result.OK
    way_out: str | None = None
    figures: Mapping[str, float] = {}


class Wrong(Exception):
    """AWS, or the scheduler, does not do what duebell relies on."""

    def __init__(self, what: str, way_out: str | None = None) -> None:
        super().__init__(what)
        self.way_out = way_out


class NotMade(Exception):
    """The check was not made, for this reason."""

    def __init__(self, why: str, way_out: str | None = None) -> None:
        super().__init__(why)
        self.way_out = way_out
