"""Sends the messages of tasks to their targets, in as few calls as they fit in."""

from collections.abc import Callable, Sequence
from datetime import datetime
from importlib import import_module
from typing import Any, Protocol

from duebell_shared.deliveries.delivery import Delivery, Kind
from duebell_shared.tasks.task import Task

from .clients import Clients
from .faults import Answer, concerns_all, fault_of, fault_of_call
from .message import BATCH, Message, fitting, message_of

__all__ = ["Deliverer", "Service"]


class Service(Protocol):
    """One service: the module that makes its call."""

    def send(self, deliverer: "Deliverer", delivery: Delivery, messages: Sequence[Message]) -> Sequence[Any]:
        """Send these messages in one call; return for each None if it was accepted, or an Answer.

        An exception in place of an Answer is the attempt's error. What is raised is the error of all of them.
        """


#: The modules by kind.
_MODULES = {
    Kind.QUEUE: "queue",
    Kind.FIFO_QUEUE: "queue",
    Kind.TOPIC: "topic",
    Kind.FIFO_TOPIC: "topic",
    Kind.BUS: "bus",
    Kind.FUNCTION: "function",
    Kind.STATE_MACHINE: "state_machine",
    Kind.HTTPS: "https",
}


class Deliverer:
    """Sends tasks to the targets of their deliveries. Thread-safe; one serves many runs.

    clients  the clients of AWS
    clock    the time that signatures tell
    """

    def __init__(self, client: Callable[..., Any], clock: Callable[[], datetime]) -> None:
        """`client` makes a client, by the name of a service."""
        self.clients = Clients(client)
        self.clock = clock
        #: The texts of secrets by their ARN, and when each was read.
        self.secrets: dict[str, tuple[datetime, str]] = {}

    def __call__(self, tasks: Sequence[tuple[Delivery, Task]]) -> list[BaseException | None]:
        """Send these tasks, all to one target; return for each None if it was accepted, or the error."""
        errors: list[BaseException | None] = [None] * len(tasks)
        made: list[tuple[int, Message]] = []
        for place, (delivery, task) in enumerate(tasks):
            try:
                made.append((place, message_of(delivery, task)))
            except Exception as error:  # noqa: BLE001 (a bug of ours, or an item that someone has edited)
                errors[place] = error
        delivery = tasks[0][0]
        for batch in fitting(made, most=BATCH if delivery.target.kind.has_batches else 1):
            sent = self._send(delivery, [message for _, message in batch])
            for (place, _), result in zip(batch, sent, strict=True):
                errors[place] = result
        return errors

    def _send(self, delivery: Delivery, messages: Sequence[Message]) -> Sequence[BaseException | None]:
        """Send these in one call; if it is refused for what may be one message's fault, each alone."""
        service: Any = import_module(f"{__package__}.{_MODULES[delivery.target.kind]}")
        try:
            answers = service.send(self, delivery, messages)
        except Exception as raised:  # noqa: BLE001
            error = fault_of_call(delivery.target, raised)
            if messages[1:] and not concerns_all(error):
                return [self._send(delivery, [message])[0] for message in messages]
            return [error] * len(messages)
        return [
            fault_of(delivery.target, answer) if isinstance(answer, Answer) else answer for answer in answers
        ]
