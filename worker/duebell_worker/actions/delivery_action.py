"""The actions of deliveries. Loaded when a worker has one."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from duebell_shared.deliveries.delivery import Delivery

from .handles import PayloadAction, new_action

if TYPE_CHECKING:
    from duebell_editor.library.editor import Editor

__all__ = ["delivery_action"]


def delivery_action(delivery: Delivery, editor: "Callable[[], Editor]") -> PayloadAction[Any, [Any], None]:
    """Make the action of a delivery, which takes any payload."""
    action = new_action(
        delivery.name,
        _send,
        attempts=delivery.attempts,
        backoff=delivery.backoff,
        on_failed=delivery.on_failed,
        limit=delivery.limit,
        editor=editor,
    )
    action.delivery = delivery
    action.__name__ = action.__qualname__ = delivery.name
    if not isinstance(action, PayloadAction):
        raise TypeError("the function of a delivery takes a payload")
    return action


def _send(payload: object) -> None:
    """Stand in for the function of an action: a run sends deliveries itself."""
    raise TypeError("a delivery is sent when its task is due: add one, with `add`")
