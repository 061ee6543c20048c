"""The clients of AWS that deliveries are sent with, one for each service and region."""

import threading
from collections.abc import Callable
from typing import Any

import botocore
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
    user_agent=f"duebell Botocore/{botocore.__version__}",
    retries={"mode": "standard", "total_max_attempts": 2},
)


class Clients:
    """Makes the clients when they are first needed. Thread-safe, as the session that makes them is not."""

    def __init__(self, client: Callable[..., Any]) -> None:
        """`client` makes one, by the name of a service."""
        self._make = client
        self._lock = threading.Lock()
        self._clients: dict[tuple[str, str], Any] = {}

    def of(self, service: str, region: str) -> Any:
        """The client of this service in this region."""
        with self._lock:
            if (service, region) not in self._clients:
                client = self._make(service, region_name=region, config=_CONFIG)
                self._clients[service, region] = client
            return self._clients[service, region]
