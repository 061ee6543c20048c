"""Whole numbers as tasks have them: none is larger than what can be kept, added up and shown everywhere."""

from typing import Annotated

import msgspec

__all__ = ["LARGEST", "MAX_PRIORITY", "Count", "Milliseconds", "Priority"]

#: Thirty thousand years in milliseconds. JavaScript's numbers are exact up to nine times that, DynamoDB's
#: up to 38 digits.
LARGEST = 10**15

#: The highest priority; the lowest, and that of a task that is given none, is 0.
MAX_PRIORITY = 9

Count = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
Milliseconds = Annotated[int, msgspec.Meta(ge=-LARGEST, le=LARGEST)]
Priority = Annotated[int, msgspec.Meta(ge=0, le=MAX_PRIORITY)]
