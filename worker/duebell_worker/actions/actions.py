"""The actions of a worker, by name: functions and deliveries share one name space."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from duebell_shared.aws.aws_session import client_maker
from duebell_shared.backend import Backend
from duebell_shared.errors import InvalidSettings
from duebell_shared.quoting import quoted
from duebell_shared.tasks.checks import RESERVED, is_reserved
from duebell_worker.run.context import Deliver

from .action import Action
from .handles import PayloadAction, delivery_action

if TYPE_CHECKING:
    from duebell_editor.library.editor import Editor
    from duebell_shared.deliveries.delivery import Delivery

#: The environment variable that declares deliveries; the module that reads it is loaded where it is set.
_DELIVERIES = "DUEBELL_DELIVERIES"


class Actions(dict[str, Action[..., Any]]):
    """Actions by name.

    is_from_env  whether the worker is set up by the environment
    """

    def __init__(self, editor: "Callable[[], Editor]") -> None:
        """`editor` gives the editor that actions add tasks with."""
        super().__init__()
        self.is_from_env = False
        self._editor = editor
        self._has_declared = False

    def check_is_new(self, name: str) -> None:
        """Raise ValueError if there is an action of this name."""
        if known := self.get(name):
            delivery = known.delivery
            what = f"a delivery to {delivery.target.shown}" if delivery else known.function.__qualname__
            raise ValueError(f"there is an action {quoted(name)} already: {what}")

    def add(self, action: Action[..., Any]) -> None:
        """Add this action. Raises ValueError if the name is reserved."""
        if is_reserved(action.name):
            raise ValueError(
                f"action {quoted(action.name)}: names that start with {quoted(RESERVED)} are duebell's own"
            )
        self[action.name] = action

    @property
    def deliveries(self) -> "tuple[Delivery, ...]":
        """The deliveries among the actions."""
        return tuple(action.delivery for action in self.values() if action.delivery)

    def add_delivery(self, delivery: "Delivery") -> PayloadAction[Any, [Any], None]:
        """Add the action of this delivery. Raises ValueError if there is one of this name."""
        self.check_is_new(delivery.name)
        action = delivery_action(delivery, self._editor)
        self.add(action)
        return action

    def add_declared(self) -> None:
        """Add the deliveries that DUEBELL_DELIVERIES declares, at the first call. Raises InvalidSettings."""
        text = "" if self._has_declared else os.environ.get(_DELIVERIES, "")
        if text:
            from duebell_shared.deliveries.delivery import deliveries_in  # noqa: PLC0415

            for delivery in deliveries_in(text).values():
                try:
                    self.add_delivery(delivery)
                except ValueError as error:
                    raise InvalidSettings(_DELIVERIES, f"{error}; rename one of the two") from None
        self._has_declared = True

    def complete(self) -> None:
        """Add what the environment declares, if the worker is set up by it."""
        if self.is_from_env:
            self.add_declared()

    def deliverer(self, backend: Backend) -> Deliver | None:
        """Make the sender of the deliveries; None if there are none."""
        if not self.deliveries:
            return None
        from duebell_worker.deliveries.deliverer import Deliverer  # noqa: PLC0415

        return Deliverer(backend.client or client_maker(None), backend.clock)
