"""The pool of threads that actions run in, side by side."""

from collections.abc import Callable, Collection
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import timedelta
from typing import Any, Protocol

__all__ = ["Pool", "ThreadPool"]


class Pool(Protocol):
    """Runs calls side by side. A simulation has its own, in simulated time."""

    def submit(self, call: Callable[..., None], *arguments: Any) -> Future[None]:
        """Start the call; an error that it raises is in the future."""

    def wait(self, futures: Collection[Future[Any]], patience: timedelta) -> Collection[Future[Any]]:
        """Wait until one of these has ended, at most this long; return those that have."""

    def close(self) -> None:
        """Start nothing more, and do not wait for the calls under way."""


class ThreadPool:
    """A pool of threads, at most this many at a time."""

    def __init__(self, size: int) -> None:
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="duebell-action")

    def submit(self, call: Callable[..., None], *arguments: Any) -> Future[None]:
        """Start the call in a thread."""
        return self._threads.submit(call, *arguments)

    def wait(self, futures: Collection[Future[Any]], patience: timedelta) -> Collection[Future[Any]]:
        """Wait in real time."""
        seconds = max(patience.total_seconds(), 0)
        return wait(futures, timeout=seconds, return_when=FIRST_COMPLETED).done

    def close(self) -> None:
        """Do not wait for actions that hang; their threads end with the process."""
        self._threads.shutdown(wait=False, cancel_futures=True)
