"""The worker's Lambda as those see it that call it directly: it notes what it is invoked with."""

import json
from collections.abc import Callable
from typing import Any, cast

import msgspec
from botocore.exceptions import ClientError

from duebell_shared.backend import Backend
from duebell_shared.bell.armer import Function


class Called:
    """`events` is what the function was invoked with; `refuses` makes every invocation fail.

    `on_invoke` happens at each invocation that starts a further run, and `shares` are the lanes of these.
    """

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.refuses = False
        self.on_invoke: Callable[[], object] = lambda: None

    def by(self, backend: Backend) -> Backend:
        """The backend, able to call."""
        return msgspec.structs.replace(backend, function=Function("duebell", lambda: cast("Any", self)))

    def invoke(self, *, FunctionName: str, InvocationType: str, Payload: bytes) -> None:  # noqa: N803
        """The attribute of boto3's client that has this name."""
        if self.refuses:
            raise ClientError({"Error": {"Code": "TooManyRequestsException"}}, "Invoke")
        assert (FunctionName, InvocationType) == ("duebell", "Event")
        self.events.append(json.loads(Payload))
        if "lanes" in self.events[-1]["duebell"]:
            self.on_invoke()

    @property
    def shares(self) -> list[list[int]]:
        return [event["duebell"]["lanes"] for event in self.events if "lanes" in event["duebell"]]
