"""The worker's log, as Lambda sees it."""

import io
import json
from typing import Any


class Log:
    """The lines written so far, each parsed."""

    def __init__(self) -> None:
        self.stream = io.StringIO()

    def lines(self, event: str | None = None) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.stream.getvalue().splitlines()]
        for line in lines:
            del line["timestamp"]  # it is the wall clock's
        return [line for line in lines if event in {None, line["event"]}]
