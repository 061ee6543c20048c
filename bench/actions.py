"""The worker of the measurements on the embedded stack: an action that does nothing."""

from duebell import Worker

__all__ = ["worker"]

worker = Worker.from_env()


@worker.action("act")
def act() -> None:
    """Do nothing."""
