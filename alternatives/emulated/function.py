"""The code of a design's Lambda function: it calls the handler that its environment names."""

import importlib
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

import boto3

from alternatives.design import Handler, Platform

from .journal import act

__all__ = ["HANDLER", "handler"]

#: The environment variable with the module and the name of the handler.
HANDLER = "ALTERNATIVES_HANDLER"


@cache
def _client(service: str) -> Any:
    # The service's names are the variables here, and boto3-stubs know literals only.
    connect: Any = boto3.client
    return connect(service)


class _Inside:
    """The platform inside a function, whose environment says where AWS is."""

    def client(self, service: str) -> Any:
        return _client(service)

    def now(self) -> datetime:
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        raise NotImplementedError(f"a function does not wait {seconds} seconds")

    def function(self, name: str, handler: Handler) -> str:
        raise NotImplementedError(f"a function does not deploy {name}: {handler}")

    def program(self, name: str, main: Callable[[Platform], None]) -> None:
        raise NotImplementedError(f"a function does not start {name}: {main}")

    def act(self, id: str, payload: Mapping[str, Any]) -> None:
        act(_client("dynamodb"), id, payload)


def handler(event: Any, context: object) -> None:
    """Call the design's handler."""
    module, _, name = os.environ[HANDLER].partition(":")
    getattr(importlib.import_module(module), name)(event, _Inside())
