"""A simulated process with its clients: what code of a design runs on."""

from collections.abc import Callable, Mapping
from datetime import datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tests.simulation.world import Process

from alternatives.design import Handler, Platform

if TYPE_CHECKING:
    from .account import Account

__all__ = ["ACTION", "ActionFailed", "Machine"]

#: Seconds that an action takes.
ACTION = 0.2


class ActionFailed(Exception):
    """A task's action failed."""


class Machine:
    """The platform as one simulated process has it."""

    def __init__(self, account: "Account", process: Process, request: str = "") -> None:
        self.account = account
        self.process = process
        self.request = request
        self.calls = 0

    def client(self, service: str) -> Any:
        return _Client(self, service)

    def now(self) -> datetime:
        return self.process.clock()

    def sleep(self, seconds: float) -> None:
        self.process.sleep(seconds)

    def function(self, name: str, handler: Handler) -> str:
        return self.account.functions.deploy(name, handler)

    def program(self, name: str, main: Callable[[Platform], None]) -> None:
        self.account.run_program(name, main)

    def act(self, id: str, payload: Mapping[str, Any]) -> None:
        """Act: `payload["fails"]` is how many of its first starts fail, all of them if it is negative."""
        start = self.account.start(id)
        before = self.account.started[id] - 1
        self.process.sleep(ACTION)
        fails = int(payload.get("fails", 0))
        if fails < 0 or before < fails:
            raise ActionFailed(f"the action of {id} fails, as it was told to")
        start.done = self.now()
        self.account.after_action(self.process, id)
        self.process.wake()


class _Client:
    """A client: each operation is a call over the network."""

    def __init__(self, machine: Machine, service: str) -> None:
        self._machine = machine
        self._service = service
        self.meta = SimpleNamespace(region_name="us-east-1")

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        account, process = self._machine.account, self._machine.process
        effect = getattr(account.services[self._service], operation)

        def call(**arguments: Any) -> Any:
            process.wake()
            self._machine.calls += 1
            account.calls[operation] += 1
            process.sleep(account.manners.call(account.random) / 2)
            answer = effect(**arguments)
            process.sleep(account.manners.call(account.random) / 2)
            return answer

        return call
