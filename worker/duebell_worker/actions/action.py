"""An action: the named function that handles a task."""

import inspect
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from functools import cached_property, update_wrapper
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, Unpack, cast

import msgspec

from duebell_shared.backoff import Backoff
from duebell_shared.errors import InvalidTask
from duebell_shared.limits.limits import Limit
from duebell_shared.parallel import as_coroutine
from duebell_shared.payloads import payload as payloads
from duebell_shared.quoting import quoted
from duebell_shared.tasks.fields import AddFields, NewTask
from duebell_shared.tasks.task import Task
from duebell_worker.actions.parameters import InvalidPayload, may_convert
from duebell_worker.log import LogLine, emit

from .parameters import Parameters

if TYPE_CHECKING:
    from duebell_editor.library.editor import Editor
    from duebell_editor.transactions.transaction import Transaction
    from duebell_shared.deliveries.delivery import Delivery

_P = ParamSpec("_P")  # the function's own parameters
_A = ParamSpec("_A")  # the parameters among these that a task gives
_R = TypeVar("_R")


class TimedOut(Exception):
    """The error of an attempt that took longer than its action's time-out."""

    def __init__(self, timeout: timedelta) -> None:
        super().__init__(f"took longer than its time-out of {timeout.total_seconds():g} seconds")


class TaskOptions(AddFields, total=False):
    """The options of the tasks that an action adds.

    transaction  adds the task by this transaction, which takes no `if_exists`, `max_wait` and `rev`
    """

    transaction: "Transaction"


class PreparedAction(Generic[_A]):
    """An action with options for its tasks: see `Action.using`.

    The methods take what the action's function takes: its payload, or the payload's fields by keyword. They
    raise TypeError and InvalidTask, before anything is stored, if the function cannot take these arguments.
    """

    def __init__(
        self,
        action: str,
        payload_of: Callable[[tuple[Any, ...], dict[str, Any]], object],
        editor: "Callable[[], Editor]",
        **options: Unpack[TaskOptions],
    ) -> None:
        if unknown := options.keys() - TaskOptions.__annotations__.keys():
            raise TypeError(
                f"{quoted(min(unknown))} is no option of a task: `add` takes what the action is given"
            )
        self._action = action
        self._payload_of = payload_of
        self._editor = editor
        self._transaction = options.pop("transaction", None)
        self._options: dict[str, Any] = {**options}

    def add(self, /, *args: _A.args, **arguments: _A.kwargs) -> Task:
        """Add a task, by the transaction if there is one, else by the worker's editor, `Worker.editor`.

        Raises what `Editor.add` raises.
        """
        payload = self._payload_of(args, arguments)
        add: Callable[..., Task] = (self._transaction or self._editor()).add
        return add(self._action, payload=payload, **self._options)

    #: `add` as a coroutine, which adds in a thread of the event loop's own pool. Cancelling it does not stop
    #: an add that has begun.
    add_async = as_coroutine(add)

    def task(self, /, *args: _A.args, **arguments: _A.kwargs) -> NewTask:
        """A task for `Editor.add_one` and `Editor.add_many`, which take `if_exists`, `max_wait` and `rev`."""
        if self._transaction is not None:
            raise TypeError(
                "'transaction' is no field of a task: add it by `add`, or leave the transaction out"
            )
        if wrong := self._options.keys() - NewTask.__annotations__.keys():
            raise TypeError(f"{quoted(min(wrong))} is no field of a task: give it to `add_one` or `add_many`")
        payload = self._payload_of(args, arguments)
        return cast("NewTask", {"action": self._action, "payload": payload, **self._options})


class Action(Generic[_P, _R]):
    """A function that handles tasks. It stays callable as it is.

    name      its name, which a task gives as its `action`
    attempts  the most attempts at a task
    backoff   the wait between a failed attempt and the next
    timeout   the longest time of an attempt; None for any time
    stoppable  whether its attempts are told to stop: see `stopping`
    keep_result  whether its return value is kept with its task
    function  the function itself
    limit     the attempts at a time and the starts a second, over all runs together
    delivery  the message and its target, instead of a call of a function; None for functions
    on_failed  the action of the task that is added when one with this action has failed for good; else None
    """

    __name__: str
    __qualname__: str
    attempts: int
    backoff: Backoff
    timeout: timedelta | None
    stoppable: bool
    keep_result: bool
    limit: Limit
    on_failed: str | None
    delivery: "Delivery | None" = None

    def __init__(
        self, name: str, function: Callable[_P, _R], parameters: Parameters, editor: "Callable[[], Editor]"
    ) -> None:
        """Only `new_action` calls this, and sets the options."""
        update_wrapper(self, function)
        self.name = name
        self.function = function
        self._parameters = parameters
        self._editor = editor

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Call the function itself, at once."""
        return self.function(*args, **kwargs)

    def handle(self, task: Task) -> object:
        """Call the function for this task, and return its result.

        Raises InvalidPayload, and the function's own errors. A coroutine is cancelled at the time-out, and
        then this raises TimedOut.
        """
        result = self._parameters.call(self.function, task)
        if inspect.iscoroutine(result):
            import asyncio  # noqa: PLC0415 (a tenth of a cold start, and few actions need it)

            result = asyncio.run(_within(self.timeout, result) if self.timeout else result)
        if inspect.isgenerator(result) or inspect.isasyncgen(result):  # of a decorated function
            raise TypeError(
                "the action returned a generator, so none of its lines ran: write it without `yield`"
            )
        return result

    def schema(self) -> dict[str, Any] | None:
        """The JSON Schema of the payload; None if the function takes none.

        It allows everything if the user's type has no schema.
        """
        try:
            schema = self._parameters.schema()
            msgspec.json.encode(schema)
        except Exception as error:  # noqa: BLE001 (the user's own types decide what they raise)
            emit(LogLine.SCHEMA_LEFT_OUT, action=self.name, error=str(error))
            return {}
        return schema

    @property
    def converts(self) -> bool:
        return may_convert(self._parameters.payload_type)

    @cached_property
    def batch(self) -> str | None:
        """The target, if attempts at it go in batches; None if each is made alone."""
        return self.delivery.to if self.delivery and self.delivery.target.kind.most_at_once > 1 else None

    def is_last_attempt(self, claimed: Task) -> bool:
        """Tell whether the last attempt is to be made: it was claimed, now or before, and not begun yet."""
        return claimed.attempt >= self.attempts and (claimed.begun or 0) < self.attempts

    def is_used_up(self, task: Task) -> bool:
        """Tell whether the last attempt was begun before this claim, and its process died during it."""
        return task.attempt > self.attempts and (task.begun or 0) >= self.attempts

    def using(self, **options: Unpack[TaskOptions]) -> "PreparedAction[...]":
        """The action with options for the tasks that it adds: `put_on_sale.using(due=start).add(item=42)`.

        They are the arguments of `Editor.add`, but for the action and the payload, and `transaction`.
        Raises TypeError for another name.
        """
        return PreparedAction(self.name, self._payload_of, self._editor, **options)

    def _payload_of(self, args: tuple[Any, ...], arguments: dict[str, Any]) -> object:
        """The payload of a task with these arguments. Raises TypeError and InvalidTask."""
        if not self._parameters.takes_payload:
            self._parameters.fields.bind(*args, **arguments)  # raises TypeError
            return self.checked(arguments)
        if len(args) != 1 or arguments:
            raise TypeError(f"action {quoted(self.name)}: give the payload, and nothing else")
        return self.checked(args[0])

    def checked(self, payload: object) -> object:
        """The payload, if the function can take it. Raises InvalidTask.

        A pydantic value is refused if its JSON has another value, because a field is secret or left out.
        """
        try:
            read = self._parameters.decode(payloads.of_task(payload))
        except InvalidPayload as error:
            raise InvalidTask("payload", f"{error}, for the action {quoted(self.name)}") from None
        if may_convert(type(payload)) and type(read) is type(payload) and not _is_same(read, payload):
            raise InvalidTask(
                "payload", "would reach the action with other values: a field is secret or excluded"
            )
        return payload


def _is_same(one: Any, other: Any) -> bool:
    """Compare values of pydantic types by their fields, without private ones, and times by their moment.

    By PEP 495, `==` is False for times of two zones in an hour that clocks show twice.
    """
    if isinstance(one, datetime) and isinstance(other, datetime) and one.tzinfo and other.tzinfo:
        return one.astimezone(UTC) == other.astimezone(UTC)
    if type(one) is not type(other) or one == other:
        return bool(one == other)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_is_same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_is_same(one[key], other[key]) for key in one)
    if not may_convert(type(one)) or not hasattr(one, "__dict__"):
        return False
    extra = "__pydantic_extra__"
    return _is_same(vars(one), vars(other)) and _is_same(
        getattr(one, extra, None), getattr(other, extra, None)
    )


async def _within(timeout: timedelta, coroutine: Coroutine[Any, Any, _R]) -> _R:
    """Await the coroutine, and cancel it at the time-out. Raises TimedOut."""
    import asyncio  # noqa: PLC0415

    try:
        async with asyncio.timeout(timeout.total_seconds()) as limit:
            return await coroutine
    except TimeoutError:
        if limit.expired():
            raise TimedOut(timeout) from None
        raise
