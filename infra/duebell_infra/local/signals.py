"""Ctrl-C and other signals that end a process: as one exception, raised once, or as a handler of its own."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

#: Windows has no SIGHUP.
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Ended(KeyboardInterrupt):
    """The process was told to end. It is no Exception, so that no handler of failures catches it.

    It is a KeyboardInterrupt: an event loop lets no other exception out of an interrupted callback.
    """


@contextmanager
def ended_by_signal() -> Iterator[None]:
    """Raise Ended inside at Ctrl-C, SIGTERM, or when the terminal goes away; from then on, ignore them.

    For the main thread. A second Ctrl-C does not interrupt the clean-up that the first one began.
    """

    def end(_number: int, _frame: FrameType | None) -> None:
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise Ended

    with at_each_signal(end):
        yield


@contextmanager
def at_each_signal(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Call the handler inside at Ctrl-C, SIGTERM, or when the terminal goes away. For the main thread.

    At the end the signals get back the handlers that they had. If nohup ignores the end of the terminal, it
    stays ignored.
    """
    kept = {each for each in _SIGNALS if each.name == "SIGHUP" and signal.getsignal(each) is signal.SIG_IGN}
    before = {each: signal.signal(each, handler) for each in _SIGNALS if each not in kept}
    try:
        yield
    finally:
        for each, former in before.items():
            signal.signal(each, former)
