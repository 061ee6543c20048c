"""A pool without threads: actions run one after the other, in the order they were started."""

from collections.abc import Callable, Collection
from concurrent.futures import Future
from datetime import timedelta
from typing import Any

__all__ = ["InlinePool"]


class InlinePool:
    """A worker's pool that runs each call at once and to its end, in the thread that asks for it."""

    def submit(self, call: Callable[..., None], *arguments: Any) -> Future[None]:
        future: Future[None] = Future()
        try:
            call(*arguments)
        except BaseException as error:  # noqa: BLE001 (as a thread pool does)
            future.set_exception(error)
        else:
            future.set_result(None)
        return future

    def wait(self, futures: Collection[Future[None]], patience: timedelta) -> Collection[Future[None]]:
        return list(futures)

    def close(self) -> None:
        """Nothing is under way."""
