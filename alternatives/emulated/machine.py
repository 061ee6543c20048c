"""The embedded stack as a platform: boto3's clients, functions of this very package, programs as threads."""

import io
import threading
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3

from alternatives.design import Handler, Platform, passing_over
from alternatives.tables import ARN_OF_ROLE

from . import function, journal

__all__ = ["EmulatedMachine"]

_PACKAGE = Path(__file__).parents[1]


class _Stopped(BaseException):
    """The program was told to end."""


class EmulatedMachine:
    """The platform of services and programs, beside MiniStack."""

    def __init__(self, session: boto3.Session, stop: threading.Event | None = None) -> None:
        self._session = session
        self._clients: dict[str, Any] = {}
        self._stop = stop or threading.Event()
        self._programs: dict[str, threading.Event] = {}

    def client(self, service: str) -> Any:
        if service not in self._clients:
            connect: Any = self._session.client
            self._clients[service] = connect(service)
        return self._clients[service]

    def now(self) -> datetime:
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        if self._stop.wait(seconds):
            raise _Stopped

    def function(self, name: str, handler: Handler) -> str:
        code = _zipped()
        created: dict[str, Any] = {}
        with passing_over("ResourceConflictException"):
            created = self.client("lambda").create_function(
                FunctionName=name,
                Runtime="python3.11",
                Role=ARN_OF_ROLE,
                Handler=f"{function.__name__}.{function.handler.__name__}",
                Code={"ZipFile": code},
                Timeout=60,
                Environment={"Variables": {function.HANDLER: f"{handler.__module__}:{handler.__name__}"}},
            )
        created = created or self.client("lambda").update_function_code(FunctionName=name, ZipFile=code)
        arn: str = created["FunctionArn"]
        return arn

    def program(self, name: str, main: Callable[[Platform], None]) -> None:
        self.stop(name)
        stop = self._programs[name] = threading.Event()
        machine = EmulatedMachine(self._session, stop)

        def run() -> None:
            with suppress(_Stopped):
                main(machine)

        threading.Thread(target=run, daemon=True, name=name).start()

    def stop(self, name: str) -> None:
        """Stop the program of this name, if it runs."""
        if name in self._programs:
            self._programs.pop(name).set()

    def act(self, id: str, payload: Mapping[str, Any]) -> None:
        journal.act(self.client("dynamodb"), id, payload)


def _zipped() -> bytes:
    """Return this package as a zip, without what only this machine runs."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for path in [*_PACKAGE.glob("*.py"), *(_PACKAGE / "emulated").glob("*.py")]:
            file.write(path, Path("alternatives") / path.relative_to(_PACKAGE))
    return buffer.getvalue()
