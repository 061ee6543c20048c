"""The worker's log: one JSON object a line, with a stable `event`. Payloads are never logged."""

import logging
from typing import Any

from duebell_shared import log_lines

__all__ = ["emit", "to_stdout"]

_LOGGER = logging.getLogger("duebell.worker")


def emit(event: str, *, level: int = logging.INFO, **fields: Any) -> None:
    """Log an event with its fields; those that are None are left out."""
    log_lines.log_event(_LOGGER, event, level=level, **fields)


def to_stdout() -> None:
    """Write the log to standard output, where Lambda picks it up. Only the process's owner calls this."""
    log_lines.to_stdout(_LOGGER)
