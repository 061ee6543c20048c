"""Asking several lanes at once."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["each", "primed"]

_A = TypeVar("_A")
_B = TypeVar("_B")

#: Calls under way at a time; the connection pool holds more.
_THREADS = 16


def each(call: Callable[[_A], _B], over: Iterable[_A]) -> list[_B]:
    """What the call returns for each of these, made side by side. Raises what the first that fails raises."""
    given = list(over)
    if not given[1:]:
        return [call(one) for one in given]
    with ThreadPoolExecutor(min(_THREADS, len(given)), thread_name_prefix="duebell-read") as pool:
        return list(pool.map(call, given))


def primed(streams: Sequence[Iterator[_A]]) -> list[Iterator[_A]]:
    """The same streams, with the first of each read already."""

    def prime(stream: Iterator[_A]) -> Iterator[_A]:
        return itertools.chain(list(itertools.islice(stream, 1)), stream)

    return each(prime, streams)
