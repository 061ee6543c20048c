"""An action: the named function that handles a task."""

import inspect
import logging
import re
from collections.abc import Callable, Mapping
from functools import cached_property, update_wrapper
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast

import msgspec

from duebell_shared.backoff import Backoff
from duebell_shared.errors import InvalidTask
from duebell_shared.limits.limits import Limit
from duebell_shared.payloads import payload as payloads
from duebell_shared.payloads.json_schema import ignored_field, misfit
from duebell_shared.quoting import quoted
from duebell_shared.tasks.task import Task
from duebell_shared.tasks.task_warnings import DoubtfulPayload, warn_user
from duebell_worker.log import emit

from .parameters import Parameters
from .payload_type import InvalidPayload, may_convert

if TYPE_CHECKING:
    from duebell_editor import Editor, NewTask
    from duebell_shared.deliveries.delivery import Delivery

__all__ = ["Action"]

_P = ParamSpec("_P")  # the function's own parameters
_R = TypeVar("_R")

#: The place of a fault at the beginning of pydantic's message.
_BEGINS_WITH_PLACE = re.compile(r"(payload[^:\s]*): ")


class Action(Generic[_P, _R]):
    """A function that handles tasks. It stays callable as it is.

    name      its name, which a task gives as its `action`
    attempts  how often it is tried
    backoff   the wait between a failed attempt and the next
    function  the function itself
    limit     how many attempts at a time and a second are started, over all runs together
    delivery  what is sent, and where to, instead of a call of the function; None for all others
    on_failed  the action of the task that is added when one of this action has failed for good; None for none
    """

    __name__: str
    __qualname__: str
    delivery: "Delivery | None" = None
    limit = Limit()

    def __init__(
        self,
        name: str,
        function: Callable[_P, _R],
        parameters: Parameters,
        *,
        attempts: int,
        backoff: Backoff,
        on_failed: str | None = None,
        editor: "Callable[[], Editor]",
    ) -> None:
        update_wrapper(self, function)
        self.name = name
        self.function = function
        self.attempts = attempts
        self.backoff = backoff
        self.on_failed = on_failed
        self._parameters = parameters
        self._editor = editor

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Call the function itself, at once."""
        return self.function(*args, **kwargs)

    def handle(self, task: Task) -> None:
        """Call the function for this task. Raises InvalidPayload, and whatever the function raises."""
        result = self._parameters.call(self.function, task)
        if inspect.iscoroutine(result):
            import asyncio  # noqa: PLC0415 (a tenth of a cold start, and few actions need it)

            asyncio.run(result)

    def schema(self) -> dict[str, Any] | None:
        """The JSON Schema of the payload; None if the function takes none.

        It allows everything if the user's type has no schema.
        """
        return self._schema

    @cached_property
    def _schema(self) -> dict[str, Any] | None:
        try:
            schema = self._parameters.schema()
            msgspec.json.encode(schema)
        except Exception as error:  # noqa: BLE001 (the user's own types decide what they raise)
            emit("schema_left_out", level=logging.WARNING, action=self.name, error=str(error))
            return {}
        return schema

    @property
    def converts(self) -> bool:
        """True if the payload's type may convert what does not fit its schema."""
        return may_convert(self._parameters.payload_type)

    @property
    def batch(self) -> str | None:
        """The target, if attempts at it go in batches; None if each is made alone."""
        return self.delivery.to if self.delivery and self.delivery.target.kind.has_batches else None

    def is_last_attempt(self, claimed: Task) -> bool:
        """Tell whether to make the last attempt: this is its claim, or a later one and it was not begun."""
        return claimed.attempt >= self.attempts and (claimed.begun or 0) < self.attempts

    def is_used_up(self, task: Task) -> bool:
        """Tell whether the last attempt was begun before this claim, and its process died during it."""
        return task.attempt > self.attempts and (task.begun or 0) >= self.attempts

    def _add(self, payload: object, options: Mapping[str, Any]) -> Task:
        return self._editor().add(self.name, payload=self.checked(payload), **options)

    def _task(self, payload: object, options: Mapping[str, Any]) -> "NewTask":
        return cast("NewTask", {"action": self.name, "payload": self.checked(payload), **options})

    def checked(self, payload: object) -> object:
        """The payload, if the function can take it. Raises InvalidTask.

        Warns with DoubtfulPayload of a field that the payload's type leaves out.
        """
        text = payloads.of_task(payload)
        try:
            self._parameters.decode(text)
        except InvalidPayload as error:
            raise self._refusal(text, error) from None
        if ignored := ignored_field(payload, text, self._schema or {}, self.name):
            warn_user(ignored, DoubtfulPayload)
        return payload

    def _refusal(self, text: str, error: InvalidPayload) -> InvalidTask:
        """The error for a payload that its type refused: in the words of the schema, as far as it tells."""
        known = misfit(text, self._schema or {}, self.name)
        # A type that converts may take what the schema finds first. Then its own words tell the fault.
        if known and (not self.converts or known.field.removeprefix("payload") in error.places):
            return known
        place, reason = "payload", str(error)
        if found := _BEGINS_WITH_PLACE.match(reason):
            place, reason = found[1], reason[found.end() :]
        return InvalidTask(place, f"{reason}, for the action {quoted(self.name)}")
