"""The worker's Lambda as those see it that call it directly: it notes what it is invoked with."""

import json
from typing import Any, cast

import msgspec
from botocore.exceptions import ClientError

from duebell_shared.backend import Backend
from duebell_shared.bell.armer import Function


class Called:
    """`events` is what the function was invoked with; `refuses` makes every invocation fail."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.refuses = False

    def by(self, backend: Backend) -> Backend:
        """The backend, able to call."""
        return msgspec.structs.replace(backend, function=Function("duebell", lambda: cast("Any", self)))

    def invoke(self, *, FunctionName: str, InvocationType: str, Payload: bytes) -> None:  # noqa: N803
        """What boto3's client has of this name."""
        if self.refuses:
            raise ClientError({"Error": {"Code": "TooManyRequestsException"}}, "Invoke")
        assert (FunctionName, InvocationType) == ("duebell", "Event")
        self.events.append(json.loads(Payload))
