"""The interface of a design: it is deployed, takes tasks, and acts when they are due.

A design is written against boto3's clients, which its platform gives it. The platform is either the embedded
stack, where the clients are boto3's own, or the simulated AWS, whose clients take the same arguments.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Protocol

import msgspec
from botocore.exceptions import ClientError

__all__ = [
    "Capabilities",
    "Design",
    "Handler",
    "NotOffered",
    "Platform",
    "Refused",
    "Source",
    "Task",
    "decode",
    "encode",
    "passing_over",
]


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """Something to do later.

    id       letters, digits and hyphens, 40 at most, so that it can be a part of any resource's name
    due      when, with a time zone
    payload  what the action is given
    every    the time from one occurrence to the next; None if it runs once
    """

    id: str
    due: datetime
    payload: dict[str, Any] = {}
    every: timedelta | None = None


class NotOffered(Exception):
    """The design has no way to do this."""


class Refused(Exception):
    """The design cannot take this task; nothing is stored."""


class Platform(Protocol):
    """The platform of a process of a design: a service that adds tasks, a function, or a machine."""

    def client(self, service: str) -> Any:
        """Return boto3's client for this service, or one that takes the same arguments."""

    def now(self) -> datetime:
        """Return the time, in UTC."""

    def sleep(self, seconds: float) -> None:
        """Wait."""

    def function(self, name: str, handler: "Handler") -> str:
        """Deploy a Lambda function, or update it, and return its ARN."""

    def program(self, name: str, main: Callable[["Platform"], None]) -> None:
        """Start a program on a machine that runs on; again: stop it and start the new one."""

    def act(self, id: str, payload: Mapping[str, Any]) -> None:
        """Do what the task is for. Raises what the action raises."""


#: Code of a function: it is called with the event, and with the platform that it runs on.
Handler = Callable[[Any, Platform], None]


class Source(msgspec.Struct, frozen=True):
    """The article or page that describes a design."""

    title: str
    url: str


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """The capabilities of a design, in a few words each; empty where it offers nothing.

    move, cancel, recurring, listing  how
    fails     what becomes of a task whose action fails
    farthest  how far ahead a task may be due; None if there is no limit that matters
    idle      what runs, and is paid for, while nothing is due
    limits    what binds when so many tasks wait: by their number, 1e3, 1e6 and 1e8
    """

    move: str
    cancel: str
    recurring: str
    listing: str
    fails: str
    farthest: timedelta | None
    idle: str
    limits: dict[int, str]


class Design(ABC):
    """A way to schedule. What one object of it does, any other of the same name on the platform sees."""

    name: ClassVar[str]
    title: ClassVar[str]
    sources: ClassVar[tuple[Source, ...]]
    capabilities: ClassVar[Capabilities]

    def __init__(self, platform: Platform) -> None:
        self.platform = platform

    @abstractmethod
    def deploy(self) -> None:
        """Create what it needs; done again, it is a redeployment."""

    @abstractmethod
    def add(self, task: Task) -> None:
        """Take a task. Raises Refused, and ClientError where AWS refuses."""

    def move(self, task: Task) -> None:
        """Change when a task that waits is due, to `task.due`. Raises NotOffered."""
        raise NotOffered(f"{self.title} cannot move the task {task.id}: cancel it where that is offered")

    def cancel(self, id: str) -> None:
        """Take a task back that waits. Raises NotOffered."""
        raise NotOffered(f"{self.title} cannot cancel the task {id}")

    @abstractmethod
    def destroy(self) -> None:
        """Delete what `deploy` created, and what became of the tasks."""


class passing_over:  # noqa: N801 (used as `contextlib.suppress` is)
    """Pass over AWS's refusals with these codes, such as that something is there already."""

    def __init__(self, *codes: str) -> None:
        self._codes = codes

    def __enter__(self) -> None:
        """Nothing to set up."""

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> bool:
        return isinstance(error, ClientError) and error.response.get("Error", {}).get("Code") in self._codes


def encode(task: Task) -> str:
    """Write a task as JSON, its due date in UTC."""
    utc = msgspec.structs.replace(task, due=task.due.astimezone(UTC))
    return msgspec.json.encode(utc).decode()


def decode(text: str) -> Task:
    """Read what `encode` wrote."""
    return msgspec.json.decode(text, type=Task)
