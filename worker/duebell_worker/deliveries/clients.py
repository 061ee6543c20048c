"""The clients of AWS that deliveries are sent with, one for each service and region."""

import threading
from typing import Any

import boto3
from botocore.config import Config

__all__ = ["CONNECT_TIMEOUT", "READ_TIMEOUT", "Clients"]

#: An attempt that begins when its run stops starting others must have ended when the run leaves, 10 seconds
#: later: two tries take 9 seconds at most, with the pause between them. What fails is tried again anyway, as
#: another attempt.
CONNECT_TIMEOUT, READ_TIMEOUT = 1, 3

#: As many threads as a worker has by default.
_CONNECTIONS = 16

_CONFIG = Config(
    connect_timeout=CONNECT_TIMEOUT,
    read_timeout=READ_TIMEOUT,
    max_pool_connections=_CONNECTIONS,
    parameter_validation=False,  # as for DynamoDB: checking costs a fifth of each call
    user_agent=f"duebell Boto3/{boto3.__version__}",
    retries={"mode": "standard", "total_max_attempts": 2},
)


class Clients:
    """Makes the clients of one session when they are first needed. Thread-safe, as a session is not."""

    def __init__(self, session: boto3.Session) -> None:
        self._session = session
        self._lock = threading.Lock()
        self._clients: dict[tuple[str, str], Any] = {}

    def of(self, service: str, region: str) -> Any:
        """The client of this service in this region."""
        with self._lock:
            if (service, region) not in self._clients:
                client = self._session.client(service, region_name=region, config=_CONFIG)  # type: ignore[call-overload]
                self._clients[service, region] = client
            return self._clients[service, region]
