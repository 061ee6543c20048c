"""Calls in threads: many of the store side by side, and blocking calls as coroutines."""

from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial, update_wrapper
from typing import Any, Concatenate, ParamSpec, TypeVar

from duebell_shared.errors import DuebellError

_A = TypeVar("_A")
_T = TypeVar("_T")

#: Up to this many calls are made one after the other: in a Lambda, starting a pool of threads takes as long.
_FEW = 4


def result_or_error(call: Callable[[_A], _T], argument: _A) -> _T | DuebellError:
    """Make the call; return its result, or the DuebellError that it raised."""
    try:
        return call(argument)
    except DuebellError as error:
        return error


def in_this_context(call: Callable[[_A], _T]) -> Callable[[_A], _T]:
    """The call with the caller's context variables, in whatever thread it is made."""
    context = copy_context()
    return lambda argument: context.copy().run(call, argument)


class Parallel:
    """Makes many calls, each in one of a few threads."""

    def __init__(self, threads: int = 16) -> None:
        """With one thread, the calls are made one after the other in the caller's own thread."""
        self._threads = threads

    def __call__(self, call: Callable[[_A], _T], arguments: Iterable[_A]) -> list[_T | DuebellError]:
        """Make the calls; return in order the result of each, or the DuebellError that it raised."""
        arguments = list(arguments)
        outcome = partial(result_or_error, call)
        if len(arguments) <= _FEW or self._threads == 1:
            return [outcome(argument) for argument in arguments]
        threads = min(self._threads, len(arguments))
        with ThreadPoolExecutor(threads, thread_name_prefix="duebell") as pool:
            return list(pool.map(in_this_context(outcome), arguments))

    def all(self, call: Callable[[_A], _T], arguments: Iterable[_A]) -> list[_T]:
        """Make the calls and return their results in order. Raises the first DuebellError of them."""
        outcomes = self(call, arguments)
        if errors := [outcome for outcome in outcomes if isinstance(outcome, DuebellError)]:
            raise errors[0]
        return [outcome for outcome in outcomes if not isinstance(outcome, DuebellError)]


_P = ParamSpec("_P")
_R = TypeVar("_R")
_S = TypeVar("_S")


def as_coroutine(
    method: Callable[Concatenate[_S, _P], _R],
) -> Callable[Concatenate[_S, _P], Coroutine[Any, Any, _R]]:
    """The method as a coroutine in a thread of the event loop's own pool; its name ends with `_async`."""

    async def call(self: _S, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        import asyncio  # noqa: PLC0415 (a tenth of a cold start, and few processes need it)

        return await asyncio.to_thread(method, self, *args, **kwargs)

    update_wrapper(call, method)
    call.__name__, call.__qualname__ = f"{method.__name__}_async", f"{method.__qualname__}_async"
    return call
