"""Structured log lines: one JSON object a line, with a stable `event`. Payloads are never logged."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from .instants import render

__all__ = ["log_event", "to_stdout"]


def log_event(logger: logging.Logger, event: str, *, level: int = logging.INFO, **fields: Any) -> None:
    """Log an event with its fields; those that are None are left out."""
    if logger.isEnabledFor(level):
        given = {name: value for name, value in fields.items() if value is not None}
        logger.log(level, event, extra={"fields": given})


def to_stdout(*loggers: logging.Logger, with_time: bool = False) -> None:
    """Write these logs, from INFO on, to standard output. Only the owner of the process calls this.

    with_time  say when in each line, where nothing else does: CloudWatch knows it
    """
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(_JsonLines(with_time=with_time))
    for logger in loggers:
        logger.handlers = [handler]
        logger.setLevel(logging.INFO)
        logger.propagate = False


class _JsonLines(logging.Formatter):
    def __init__(self, *, with_time: bool = False) -> None:
        super().__init__()
        self._with_time = with_time

    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, "fields", {})
        line = {"event": record.getMessage(), "level": record.levelname, **fields}
        if self._with_time:
            line = {"time": render(datetime.fromtimestamp(record.created, UTC)), **line}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)
