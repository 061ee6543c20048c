"""Structured log lines: one JSON object a line, with a stable `event`. Payloads are never logged.

The names `timestamp`, `level` and `requestId` are Lambda's: it filters lines by their level if they have a
time in this form. https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-logformat.html
"""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from duebell_shared.instants import render

#: The attributes of records that an action logs: its task, its own name, the number of the attempt.
OF_ATTEMPT = ("duebell_task", "duebell_action", "duebell_attempt")


def log_event(logger: logging.Logger, event: str, *, level: int = logging.INFO, **fields: Any) -> None:
    """Log an event with its fields; those that are None are left out."""
    if logger.isEnabledFor(level):
        given = {name: value for name, value in fields.items() if value is not None}
        logger.log(level, event, extra={"fields": given})


def to_stdout(*loggers: logging.Logger) -> None:
    """Write these logs, from INFO on, to standard output. Only the owner of the process calls this."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(JsonLines())
    for logger in loggers:
        logger.handlers = [handler]
        logger.setLevel(logging.INFO)
        logger.propagate = False


class JsonLines(logging.Formatter):
    """Formats a record as a JSON object: an event with its fields, or any other message."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "timestamp": render(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname,
        }
        if request := getattr(record, "aws_request_id", None):
            line["requestId"] = request
        # Records of others may have fields of this name, too.
        fields = getattr(record, "fields", None) if record.name.partition(".")[0] == "duebell" else None
        if fields is None:
            line |= {"message": record.getMessage(), "logger": record.name}
        else:
            line |= {"event": record.getMessage(), **fields}
        line |= {name: getattr(record, name) for name in OF_ATTEMPT if hasattr(record, name)}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=_text)


def _text(value: object) -> str:
    return render(value) if isinstance(value, datetime) else str(value)
