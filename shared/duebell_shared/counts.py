"""Whole numbers as tasks have them: none is larger than what can be kept, added up and shown everywhere."""

from typing import Annotated

import msgspec

__all__ = ["LARGEST", "Count", "Milliseconds"]

#: Thirty thousand years in milliseconds. JavaScript's numbers are exact up to nine times that, DynamoDB's
#: up to 38 digits.
LARGEST = 10**15

Count = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
Milliseconds = Annotated[int, msgspec.Meta(ge=-LARGEST, le=LARGEST)]
