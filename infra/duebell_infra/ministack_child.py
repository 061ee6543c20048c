"""MiniStack, tied to the process that started it: runs as a script of its own, never imported.

Standard input is a pipe that the parent holds open and never writes to. When it ends, the parent is gone,
whatever ended it, and MiniStack stops as it does on SIGTERM: it writes its state first.
"""

import os
import signal
import sys
import threading


def _stop_when_the_parent_is_gone() -> None:
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _end_what_still_runs() -> None:
    """End the functions that are still at work; their runs are over, as on AWS when time is up."""
    if os.getpgrp() == os.getpid():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.killpg(0, signal.SIGTERM)


if __name__ == "__main__":
    from ministack.app import main  # type: ignore[import-untyped]

    threading.Thread(target=_stop_when_the_parent_is_gone, daemon=True).start()
    sys.argv = ["ministack"]
    try:
        main()
    finally:
        _end_what_still_runs()
