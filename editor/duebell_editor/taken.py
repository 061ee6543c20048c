"""What `add` does when the id is taken."""

from enum import StrEnum

from duebell_shared.errors import InvalidTask

__all__ = ["IfExists", "check_if_exists"]


class IfExists(StrEnum):
    """What `add` does when there is a task with this id already, waiting or as history."""

    FAIL = "fail"
    KEEP = "keep"
    REPLACE = "replace"


def check_if_exists(given: str) -> IfExists:
    """What was given, as one of these. Raises InvalidTask."""
    try:
        return IfExists(given)
    except ValueError:
        raise InvalidTask("if_exists", f"must be 'fail', 'keep' or 'replace', not {given!r}") from None
