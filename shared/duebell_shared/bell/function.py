"""The worker's Lambda, invoked directly: for what is due sooner than the rule can ring."""

import json
import logging
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

_LOG = logging.getLogger("duebell.function")


class Function:
    """The Lambda of this name. `connect` makes its client, when it is first needed: that takes time."""

    def __init__(self, name: str, connect: Callable[[], "LambdaClient"]) -> None:
        self.name = name
        self._connect = connect
        self._client: LambdaClient | None = None
        self._lock = threading.Lock()

    def start(self, lanes: Sequence[int] | None = None) -> bool:
        """Start a run, which goes on by itself: for these lanes, or for all that are free.

        Logs an error and returns False if it could not be started: the rule still rings.
        """
        event = {"duebell": {} if lanes is None else {"lanes": list(lanes)}}
        try:
            self._connected().invoke(
                FunctionName=self.name, InvocationType="Event", Payload=json.dumps(event).encode()
            )
        except (BotoCoreError, ClientError) as error:
            _LOG.warning("the function %r could not be invoked, so the rule will do it: %s", self.name, error)
            return False
        return True

    def _connected(self) -> "LambdaClient":
        with self._lock:
            self._client = self._client or self._connect()
            return self._client


def arming_event() -> dict[str, object]:
    return {"duebell": {"lanes": []}}
