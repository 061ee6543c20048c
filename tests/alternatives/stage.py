"""A simulated account with one design, whose time the test moves."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar

import msgspec
from alternatives.design import Design, Platform, Task
from alternatives.simulated.account import Account
from alternatives.simulated.machine import Machine
from alternatives.simulated.manners import Manners

from tests.simulation.world import World

T = TypeVar("T")

#: As AWS on a good day, so that a test knows when something happens: seconds.
PUNCTUAL = Manners(
    ttl=lambda _: 600.0,
    s3=lambda _: 3600.0,
    ring=lambda _: 5.0,
    effect=lambda _: 1.0,
    schedule=lambda _: 5.0,
    wait=lambda _: 0.5,
    message=lambda _: 0.5,
    record=lambda _: 0.5,
    call=lambda _: 0.01,
)


class Stage:
    """A design that is deployed at a noon, and an hour later the time `begin`."""

    def __init__(
        self, design: Callable[[Platform], Design], manners: Manners = PUNCTUAL, **more: Any
    ) -> None:
        self.world = World(1)
        self.account = Account(self.world, msgspec.structs.replace(manners, **more))
        self._design = design
        self.does(lambda design: design.deploy())
        self.passes(timedelta(minutes=59))
        self.begin = self.world.now

    def does(self, what: Callable[[Design], T]) -> T:
        """What a service of its own returns or raises, which has a minute for this."""
        came: list[Any] = []
        errors: list[Exception] = []

        def do(machine: Machine) -> None:
            try:
                came.append(what(self._design(machine)))
            except Exception as error:  # noqa: BLE001 (the test is told)
                errors.append(error)

        self.account.run(do)
        self.passes(timedelta(minutes=1))
        if errors:
            raise errors[0]
        result: T = came[0]
        return result

    def adds(self, id: str, due: timedelta, **more: Any) -> None:
        """Add a task that is due so long after `begin`."""
        task = Task(id=id, due=self.begin + due, **more)
        self.does(lambda design: design.add(task))

    def passes(self, by: timedelta) -> None:
        self.world.run_until(self.world.now + by)

    def passes_until(self, after: timedelta) -> None:
        """Let time pass until so long after `begin`."""
        self.world.run_until(self.begin + after)

    def started(self, id: str) -> list[timedelta]:
        """When the task started, counted from `begin`."""
        return [start.at - self.begin for start in self.account.starts if start.id == id]

    def done(self, id: str) -> int:
        return sum(start.done is not None for start in self.account.starts if start.id == id)

    @property
    def now(self) -> datetime:
        return self.world.now


MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
