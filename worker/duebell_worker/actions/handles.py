"""The handles of actions: an action with the `add` that fits its function, and how a function gets one."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    TypedDict,
    TypeVar,
    Unpack,
    overload,
)

from duebell_shared.backoff import Backoff
from duebell_shared.coroutines import as_coroutine
from duebell_shared.limits.limits import Limit, check_at_most, check_per_second
from duebell_shared.payloads.json_schema import wrong_names
from duebell_shared.quoting import quoted
from duebell_shared.tasks.follow_up import Then
from duebell_shared.tasks.given import check_name
from duebell_shared.tasks.recurrence import Missed
from duebell_shared.tasks.reserved import VERIFY
from duebell_shared.tasks.task import Task

from .action import Action
from .parameters import Parameters

if TYPE_CHECKING:
    from duebell_editor import Editor, IfExists, NewTask

__all__ = [
    "BUILT_IN",
    "ActionDecorator",
    "ArgumentsAction",
    "PayloadAction",
    "name_of",
    "new_action",
]

_P = ParamSpec("_P")  # the function's own parameters
_A = ParamSpec("_A")  # those of them that a task gives, by keyword
_R = TypeVar("_R")
_T = TypeVar("_T")


class TaskOptions(TypedDict, total=False):
    """The fields of a NewTask that an action does not fill in."""

    due: datetime | timedelta | None
    schedule: str | None
    timezone: str | None
    start: datetime | None
    end: datetime | None
    missed: Missed | Literal["once", "all", "skip"] | None
    max_runs: int | None
    spread: timedelta | None
    expires_after: timedelta | None
    priority: int | None
    on_failed: str | None
    then: Then | Mapping[str, Any] | None
    id: str | None


class AddOptions(TaskOptions, total=False):
    """The arguments of `Editor.add` that an action does not fill in."""

    if_exists: "IfExists | Literal['fail', 'keep', 'replace', 'push']"
    at_most: timedelta | None
    rev: int | None


#: The names that no argument of an action can have, if its arguments are the payload's fields.
_RESERVED = frozenset({"action", "payload", "task", *AddOptions.__annotations__})


class PayloadAction(Action[_P, _R], Generic[_T, _P, _R]):
    """An action whose function takes the whole payload: `put_on_sale.add(Sale(item=42), due=…)`."""

    def add(self, payload: _T, **options: Unpack[AddOptions]) -> Task:
        """Add a task with this payload; the options are the arguments of `Editor.add`.

        Adds with the worker's editor, `Worker.editor`. Raises InvalidTask before anything is stored if the
        function cannot take the payload, and what `Editor.add` raises.
        """
        return self._add(payload, options)

    #: `add` as a coroutine, which adds in a thread of the event loop's own pool. Cancelling it does not stop
    #: an add that has begun.
    add_async = as_coroutine(add)

    def task(self, payload: _T, **options: Unpack[TaskOptions]) -> "NewTask":
        """A task with this payload, for `Editor.add_many`. Raises InvalidTask."""
        return self._task(payload, options)


class ArgumentsAction(Action[_P, _R], Generic[_A, _P, _R]):
    """An action whose function takes the payload's fields by keyword: `put_on_sale.add(due=…, item=42)`."""

    if TYPE_CHECKING:
        # The options cannot be Unpack[AddOptions] here: ParamSpec takes what follows *args.
        def add(  # noqa: PLR0917
            self,
            due: datetime | timedelta | None = None,
            schedule: str | None = None,
            timezone: str | None = None,
            start: datetime | None = None,
            end: datetime | None = None,
            missed: Missed | Literal["once", "all", "skip"] | None = None,
            max_runs: int | None = None,
            spread: timedelta | None = None,
            expires_after: timedelta | None = None,
            priority: int | None = None,
            on_failed: str | None = None,
            then: Then | Mapping[str, Any] | None = None,
            id: str | None = None,
            if_exists: IfExists | Literal["fail", "keep", "replace", "push"] = "fail",
            at_most: timedelta | None = None,
            rev: int | None = None,
            *args: _A.args,
            **arguments: _A.kwargs,
        ) -> Task: ...

        def task(  # noqa: PLR0917
            self,
            due: datetime | timedelta | None = None,
            schedule: str | None = None,
            timezone: str | None = None,
            start: datetime | None = None,
            end: datetime | None = None,
            missed: Missed | Literal["once", "all", "skip"] | None = None,
            max_runs: int | None = None,
            spread: timedelta | None = None,
            expires_after: timedelta | None = None,
            priority: int | None = None,
            on_failed: str | None = None,
            then: Then | Mapping[str, Any] | None = None,
            id: str | None = None,
            *args: _A.args,
            **arguments: _A.kwargs,
        ) -> NewTask: ...

    else:

        def add(self, **given: Any) -> Task:
            """Add a task with these arguments of the function, beside the arguments of `Editor.add`.

            Adds with the worker's editor, `Worker.editor`. Raises TypeError and InvalidTask before anything
            is stored if the function cannot take the arguments, and what `Editor.add` raises.
            """
            return self._add(*self._split(given, AddOptions))

        def task(self, **given: Any) -> "NewTask":
            """A task with these arguments, for `Editor.add_many`. Raises TypeError and InvalidTask."""
            return self._task(*self._split(given, TaskOptions))

    #: `add` as a coroutine, as for a PayloadAction. (mypy takes `self` for an argument that has a name.)
    add_async = as_coroutine(add)  # type: ignore[arg-type]

    def _split(
        self, given: Mapping[str, Any], options: type[TaskOptions]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The function's arguments and the options. Raises TypeError if one is missing or unknown."""
        known = options.__annotations__.keys()
        arguments = {name: value for name, value in given.items() if name not in known}
        if fault := wrong_names(arguments, self._parameters.fields.parameters.values()):
            raise TypeError(f"action {self.name!r}: payload{fault.place}: {fault.reason}")
        return arguments, {name: value for name, value in given.items() if name in known}


class ActionDecorator(Protocol):
    """Makes an action of a function; its type tells the type checker which arguments a task gives."""

    @overload
    def __call__(  # type: ignore[overload-overlap]  # pyright: ignore[reportOverlappingOverload]
        self, function: Callable[[object], _R], /
    ) -> PayloadAction[Any, [Any], _R]: ...

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, function: Callable[[_T, Task], _R], /
    ) -> PayloadAction[_T, [_T, Task], _R]: ...

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, function: Callable[Concatenate[Task, _A], _R], /
    ) -> ArgumentsAction[_A, Concatenate[Task, _A], _R]: ...

    @overload
    def __call__(self, function: Callable[[_T], _R], /) -> PayloadAction[_T, [_T], _R]: ...

    @overload
    def __call__(self, function: Callable[_A, _R], /) -> ArgumentsAction[_A, _A, _R]: ...


def name_of(function: object) -> str:
    """The name of a function that is registered without one. Raises TypeError if it has none."""
    name = getattr(function, "__name__", None)
    if not callable(function) or not isinstance(name, str) or not name.isidentifier():
        raise TypeError(
            f"{quoted(function)} has no name to be an action by: give one, as in @worker.action('remind')"
        )
    return name


_NO_LIMIT = Limit()


def _no_editor() -> "Editor":
    raise TypeError("this action belongs to no worker, so it has no editor to add tasks with")


def new_action(
    name: str,
    function: Callable[..., Any],
    *,
    attempts: int,
    backoff: Backoff = Backoff(),  # noqa: B008 (a value)
    on_failed: str | None = None,
    limit: Limit = _NO_LIMIT,
    editor: "Callable[[], Editor]" = _no_editor,
) -> Action[..., Any]:
    """Make an action of a function. Raises TypeError, ValueError or InvalidTask if it cannot be one.

    The annotation of the parameter for the payload is the payload's type: nothing, Any or dict for plain
    JSON, or a dataclass, TypedDict, msgspec or pydantic type.
    """
    check_name("action", name)
    if attempts < 1:
        raise ValueError(f"action {name!r}: attempts must be 1 or more, not {attempts}")
    given: object = backoff
    if not isinstance(given, Backoff):
        raise TypeError(f"action {name!r}: backoff must be a Backoff(first=…), not {quoted(given)}")
    if isinstance(function, Action):  # one function may be several actions
        function = function.function
    parameters = Parameters.of(name, function, reserved=_RESERVED)
    kind = PayloadAction if parameters.takes_payload else ArgumentsAction
    action: Action[..., Any] = kind(
        name,
        function,
        parameters,
        attempts=attempts,
        backoff=backoff,
        on_failed=None if on_failed is None else check_name("on_failed", on_failed),
        editor=editor,
    )
    action.limit = Limit(
        at_most=check_at_most(limit.at_most, least=1),
        per_second=check_per_second(limit.per_second, may_pause=False),
    )
    return action


def _succeed() -> None:
    """Do nothing: `duebell verify` only needs its task to be run."""


#: The actions that every worker has.
BUILT_IN = {VERIFY: new_action(VERIFY, _succeed, attempts=5)}
