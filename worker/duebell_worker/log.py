"""The worker's log: one JSON object a line, with a stable `event`. Payloads are never logged."""

import json
import logging
import sys
from typing import Any

__all__ = ["emit", "to_stdout"]

_LOGGER = logging.getLogger("duebell.worker")


def emit(event: str, *, level: int = logging.INFO, **fields: Any) -> None:
    """Log an event with its fields; those that are None are left out."""
    _LOGGER.log(
        level, event, extra={"fields": {name: value for name, value in fields.items() if value is not None}}
    )


def to_stdout() -> None:
    """Write the log to standard output, where Lambda picks it up. For whoever owns the process to call."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(_JsonLines())
    _LOGGER.handlers = [handler]
    _LOGGER.setLevel(logging.INFO)
    _LOGGER.propagate = False


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, "fields", {})
        line = {"event": record.getMessage(), "level": record.levelname, **fields}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)
