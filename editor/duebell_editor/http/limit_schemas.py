"""The limits of actions as requests and answers."""

from typing import Annotated, Any

from msgspec import Struct
from pydantic import BeforeValidator, Field

from duebell_editor.status.action_limits import ActionLimit
from duebell_shared.errors import InvalidTask
from duebell_shared.limits.limits import (
    LEAST_PER_SECOND,
    MOST_AT_A_TIME,
    MOST_PER_SECOND,
    check_at_most,
    check_per_second,
)

from .requests import Given

__all__ = ["EXAMPLES", "Limits", "NewLimit"]


def _at_most(given: object) -> int | None:
    try:
        return check_at_most(given)
    except InvalidTask as error:
        raise ValueError(error.reason) from None


def _per_second(given: object) -> float | None:
    try:
        return check_per_second(given)
    except InvalidTask as error:
        raise ValueError(error.reason) from None


class NewLimit(Given):
    """Limits of an action to set; null is as its code declares."""

    at_most: Annotated[int | None, BeforeValidator(_at_most)] = Field(
        default=None, description=f"Attempts at a time, up to {MOST_AT_A_TIME:,}; 0 pauses the action"
    )
    per_second: Annotated[float | None, BeforeValidator(_per_second)] = Field(
        default=None,
        description=f"Attempts that are started a second, {LEAST_PER_SECOND} to {MOST_PER_SECOND:,}; "
        "0 pauses the action",
    )


class Limits(Struct, kw_only=True):
    """The limits of actions, by name; those that have none are left out."""

    limits: tuple[ActionLimit, ...]


_LIMITED = ActionLimit(action="put_on_sale", at_most=5, per_second=2, paused=False, declared_per_second=10)

#: Examples, by the names of the schemas.
EXAMPLES: dict[str, list[Any]] = {
    "NewLimit": [{"per_second": 2}, {"at_most": 0}, {"at_most": None, "per_second": None}],
    "ActionLimit": [_LIMITED],
    "Limits": [Limits(limits=(_LIMITED,))],
}
