"""Makes actions of functions, typed for type checkers, and the recurring tasks that code declares."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Protocol,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
    overload,
)

from msgspec.structs import asdict

from duebell_shared.backoff import Backoff
from duebell_shared.errors import InvalidSchedule
from duebell_shared.limits.limits import Limit
from duebell_shared.quoting import quoted
from duebell_shared.schedules.schedule import make_schedule
from duebell_shared.tasks.checks import VERIFY, check_name
from duebell_shared.tasks.fields import STORED, DeclaredFields, checked
from duebell_shared.tasks.follow_up import check_id, no_result_of
from duebell_shared.tasks.task import Task
from duebell_shared.tasks.worker_record import DeclaredTask
from duebell_worker.actions.action import Action, PreparedAction, TaskOptions
from duebell_worker.actions.parameters import Parameters

if TYPE_CHECKING:
    from duebell_editor.library.editor import Editor
    from duebell_shared.deliveries.delivery import Delivery

_P = ParamSpec("_P")  # the function's own parameters
_A = ParamSpec("_A")  # the parameters that a task gives, by keyword
_R = TypeVar("_R")
_T = TypeVar("_T")


class PayloadAction(Action[_P, _R], Generic[_T, _P, _R]):
    """An action whose function takes the whole payload: `put_on_sale.using(due=…).add(Sale(item=42))`."""

    if TYPE_CHECKING:

        def using(self, **options: Unpack[TaskOptions]) -> PreparedAction[[_T]]: ...


class ArgumentsAction(Action[_P, _R], Generic[_A, _P, _R]):
    """An action whose function takes the payload's fields: `put_on_sale.using(due=…).add(item=42)`."""

    if TYPE_CHECKING:

        def using(self, **options: Unpack[TaskOptions]) -> PreparedAction[_A]: ...


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


class ActionOptions(TypedDict, total=False):
    """The options of an action: the arguments of `Worker.action`, but for the name."""

    attempts: int
    backoff: Backoff
    timeout: timedelta | None
    stoppable: bool
    keep_result: bool
    on_failed: str | None
    at_most: int | None
    per_second: float | None
    closed: str | None


def _no_editor() -> "Editor":
    raise TypeError("this action belongs to no worker, so it has no editor to add tasks with")


def new_action(
    name: str,
    function: Callable[..., Any],
    editor: "Callable[[], Editor]" = _no_editor,
    *,
    attempts: int = 5,
    backoff: Backoff = Backoff(),  # noqa: B008 (a value)
    timeout: timedelta | None = None,
    stoppable: bool = False,
    keep_result: bool = False,
    on_failed: str | None = None,
    at_most: int | None = None,
    per_second: float | None = None,
    closed: str | None = None,
) -> Action[..., Any]:
    """Make an action of a function. Raises TypeError, ValueError or InvalidTask if it cannot be one.

    The annotation of the parameter for the payload is the payload's type: nothing, Any or dict for plain
    JSON, or a dataclass, TypedDict, msgspec or pydantic type.
    """
    check_name("action", name)
    given: object = attempts
    if type(given) is not int or given < 1:
        raise ValueError(f"action {name!r}: attempts must be a whole number, 1 or more, not {quoted(given)}")
    given = backoff
    if not isinstance(given, Backoff):
        raise TypeError(f"action {name!r}: backoff must be a Backoff(first=…), not {quoted(given)}")
    duration: object = timeout
    if duration is not None and not (isinstance(duration, timedelta) and duration > timedelta(0)):
        raise ValueError(f"action {name!r}: timeout must be a timedelta above 0, not {quoted(duration)}")
    if isinstance(function, Action):  # one function may be several actions
        function = function.function
    parameters = Parameters.of(name, function)
    kind = PayloadAction if parameters.takes_payload else ArgumentsAction
    action: Action[..., Any] = kind(name, function, parameters, editor)
    action.attempts, action.backoff, action.timeout = attempts, backoff, timeout
    action.stoppable, action.keep_result = stoppable, keep_result
    action.on_failed = None if on_failed is None else check_name("on_failed", on_failed)
    action.limit = Limit(at_most=at_most, per_second=per_second, closed=closed).checked(may_pause=False)
    return action


def delivery_action(delivery: "Delivery", editor: "Callable[[], Editor]") -> PayloadAction[Any, [Any], None]:
    """Make the action of a delivery, which takes any payload."""
    action = new_action(
        delivery.name,
        _send,
        editor,
        attempts=delivery.attempts,
        backoff=delivery.backoff,
        on_failed=delivery.on_failed,
        **asdict(delivery.limit),
    )
    action.delivery = delivery
    action.__name__ = action.__qualname__ = delivery.name
    return cast("PayloadAction[Any, [Any], None]", action)  # as `_send` takes a payload


def _send(payload: object) -> None:
    """Stand in for the function of an action: a run sends deliveries itself."""
    raise TypeError("a delivery is sent when its task is due: add one, with `add`")


#: The actions that every worker has: `duebell verify` only needs its task to be run.
BUILT_IN = {VERIFY: new_action(VERIFY, lambda: None)}


#: Schedules are checked as of this time, so that a schedule that has ended can still be read.
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


def declared_task(
    action: Action[..., Any], *, id: str | None, schedule: str, **given: Unpack[DeclaredFields]
) -> DeclaredTask:
    """A recurring task of this action. Raises InvalidTask, InvalidSchedule for wrong arguments.

    A schedule that has come to its end is allowed: code that declares it must still start.
    """
    if unknown := given.keys() - DeclaredFields.__annotations__.keys():
        raise TypeError(f"{quoted(min(unknown))} is no argument of @worker.recurring")
    meant = make_schedule(
        schedule,
        timezone=given.get("timezone"),
        calendar=given.get("calendar"),
        holidays=checked("holidays", given.get("holidays")),
        now=_LONG_AGO,
    )
    if meant.expression.lower().startswith("at("):
        raise InvalidSchedule("schedule", f"{quoted(schedule)} comes once: declare one that recurs")
    given["payload"] = action.checked(given.get("payload"))
    task = DeclaredTask(
        id=action.name if id is None else check_name("id", id),
        action=action.name,
        schedule=meant.expression,
        **{
            STORED.get(name, name): checked(name, value) for name, value in given.items() if value is not None
        },
    )
    if task.on_failed or task.then:
        check_id(task.id)
    if task.then and task.then.result_as and not action.keep_result:
        raise no_result_of(action.name)
    return task
