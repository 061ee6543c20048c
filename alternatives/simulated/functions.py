"""Lambda: functions that are invoked by events, by streams and by queues."""

import json
from collections import defaultdict
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from alternatives.design import Handler
from duebell_editor.simulation.cost import measured

from .machine import Machine
from .refusals import refusal

if TYPE_CHECKING:
    from .account import Account

__all__ = ["Functions"]

#: Seconds after which another try of an asynchronous invocation follows.
_AGAIN = (60.0, 120.0)

#: Seconds from an event to its function: of one that has to be started, and of one that is there. A function
#: is kept for so many seconds after its last invocation.
_COLD, _WARM, _KEPT = 0.3, 0.02, 300.0

#: For the bill: the memory in GB; processor seconds of a start, by duebell's own measurement of bare boto3;
#: seconds of an invocation, and of each of its calls. The action's own time is not in it.
_MEMORY_GB, _INVOCATION_SECONDS, _CALL_SECONDS = 0.5, 0.005, 0.005
_COLD_SECONDS = (measured().start_ms / 1000 + 0.015) * 1769 / 512


class Functions:
    """By name; each invocation is a process of its own."""

    def __init__(self, account: "Account") -> None:
        self._account = account
        self._handlers: dict[str, Handler] = {}
        self._free: defaultdict[str, list[datetime]] = defaultdict(list)  # since when each process is free
        self._mappings: set[tuple[str, str]] = set()
        self._permissions: set[tuple[str, str]] = set()
        self.dropped = 0

    def deploy(self, name: str, handler: Handler) -> str:
        """Create or update a function; returns its ARN."""
        self._handlers[name] = handler
        return f"arn:aws:lambda:us-east-1:000000000000:function:{name}"

    def get_function(self, FunctionName: str) -> dict[str, Any]:
        return {"Configuration": {"FunctionArn": self.deploy(FunctionName, self._handlers[FunctionName])}}

    def add_permission(self, FunctionName: str, StatementId: str, **_: Any) -> dict[str, Any]:
        if (FunctionName, StatementId) in self._permissions:
            raise refusal("ResourceConflictException", "the statement is there")
        self._permissions.add((FunctionName, StatementId))
        return {}

    def create_event_source_mapping(
        self,
        EventSourceArn: str,
        FunctionName: str,
        BatchSize: int,
        **_: Any,
    ) -> dict[str, Any]:
        name = FunctionName.rpartition(":")[2]
        if (EventSourceArn, name) in self._mappings:
            raise refusal("ResourceConflictException", "the mapping is there")
        self._mappings.add((EventSourceArn, name))
        service = self._account.services[EventSourceArn.split(":")[2]]
        service.listen(EventSourceArn, name, BatchSize)
        return {}

    def invoke(self, FunctionName: str, InvocationType: str, Payload: bytes) -> dict[str, Any]:
        if InvocationType != "Event":
            raise ValueError(f"InvocationType={InvocationType!r}: only Event is simulated")
        self.invoke_async(FunctionName, json.loads(Payload))
        return {"StatusCode": 202}

    def invoke_async(self, name: str, event: Any, pauses: tuple[float, ...] = _AGAIN) -> None:
        """Invoke the function, and again if it fails or dies, as often as there are pauses; then drop it."""

        def ended(has_succeeded: bool) -> None:
            if has_succeeded:
                return
            if pauses:
                again = pauses[0]
                self._account.world.after(again, lambda: self.invoke_async(name, event, pauses[1:]))
            else:
                self.dropped += 1

        self.run(name, event, ended)

    def run(self, name: str, event: Any, ended: Callable[[bool], None]) -> None:
        """Invoke the function once; `ended` is told whether it succeeded."""
        world = self._account.world
        is_warm = self._take_free(name)
        process = self._account.process(name)
        machine = Machine(self._account, process, request=process.name)

        def bill() -> None:
            self._account.billed["cold_start"] += not is_warm
            seconds = (_INVOCATION_SECONDS if is_warm else _COLD_SECONDS) + machine.calls * _CALL_SECONDS
            self._account.billed["invocation"] += 1
            self._account.billed["gb_second"] += seconds * _MEMORY_GB

        def died() -> None:
            bill()
            ended(False)

        def main() -> None:
            try:
                self._handlers[name](event, machine)
            except Exception:  # noqa: BLE001 (Lambda catches everything)
                has_succeeded = False
            else:
                has_succeeded = True
            bill()
            self._free[name].append(world.now)
            ended(has_succeeded)

        world.after(_WARM if is_warm else _COLD, lambda: process.start(main, on_death=died))

    def _take_free(self, name: str) -> bool:
        """Take a process that has been free for less than it is kept; False if there is none."""
        now = self._account.world.now
        free = [since for since in self._free[name] if (now - since).total_seconds() < _KEPT]
        self._free[name] = free[:-1]
        return bool(free)
