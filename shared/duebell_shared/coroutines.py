"""Blocking calls as coroutines: each is made in a thread, while the event loop goes on.

Cancelling a coroutine stops no thread. A call that has begun goes on, and takes effect.
"""

import sys
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from contextvars import copy_context
from functools import partial, update_wrapper
from types import FrameType
from typing import Any, Concatenate, ParamSpec, TypeVar

from .tasks.task_warnings import place_warnings_in

_P = ParamSpec("_P")
_R = TypeVar("_R")
_S = TypeVar("_S")


async def call_in_thread(pool: Executor | None, call: Callable[[], _R], caller: FrameType) -> _R:
    """Make this call in a thread of the pool, with the context variables that are set here.

    pool    the event loop's own if None
    caller  the frame whose line the warnings of the call are placed at

    Raises what the call raises.
    """
    import asyncio  # noqa: PLC0415 (a tenth of a cold start, and few processes need it)

    context = copy_context()
    context.run(place_warnings_in, caller)
    return await asyncio.get_running_loop().run_in_executor(pool, context.run, call)


def as_coroutine(
    method: Callable[Concatenate[_S, _P], _R],
) -> Callable[Concatenate[_S, _P], Coroutine[Any, Any, _R]]:
    """The method as a coroutine in a thread of the event loop's own pool; its name ends with `_async`."""

    async def call(self: _S, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return await call_in_thread(None, partial(method, self, *args, **kwargs), sys._getframe(1))  # noqa: SLF001

    update_wrapper(call, method)
    call.__name__, call.__qualname__ = f"{method.__name__}_async", f"{method.__qualname__}_async"
    return call
