"""An AWS account in simulated time: the services that the designs use, as far as they use them.

Every call takes a moment of simulated time, in which other processes go on, so two callers can come between
each other's steps as they can on AWS. A process may die in the middle.
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import datetime
from random import Random
from typing import Any

import msgspec
from tests.simulation.world import Process, World

from alternatives.design import Platform

from .dynamodb import DynamoDb
from .events import Events
from .functions import Functions
from .machine import Machine
from .manners import Manners
from .s3 import S3
from .scheduler import Scheduler
from .sns import Sns
from .sqs import Sqs
from .stepfunctions import StepFunctions

__all__ = ["Account", "Start"]

#: Seconds until a program is started again that died, or that a deployment stopped.
_RESTART, _REDEPLOY = 10.0, 30.0


class Start(msgspec.Struct, kw_only=True):
    """An action that was started: of which task, when, and when it was done; None if it failed or died."""

    id: str
    at: datetime
    done: datetime | None = None


class Account:
    """The services, what they did, and what is billed."""

    def __init__(self, world: World, manners: Manners) -> None:
        self.world = world
        self.manners = manners
        self.calls: Counter[str] = Counter()
        self.billed: defaultdict[str, float] = defaultdict(float)
        self.starts: list[Start] = []
        self.started: Counter[str] = Counter()
        self.after_action: Callable[[Process, str], None] = lambda _, __: None
        self.functions = Functions(self)
        self.sns = Sns(self)
        self.services: dict[str, Any] = {
            "dynamodb": DynamoDb(self),
            "events": Events(self),
            "lambda": self.functions,
            "s3": S3(self),
            "scheduler": Scheduler(self),
            "sns": self.sns,
            "sqs": Sqs(self),
            "stepfunctions": StepFunctions(self),
        }
        self._programs: dict[str, Process] = {}
        self._processes = 0

    @property
    def random(self) -> Random:
        """The one source of chance."""
        return self.world.random

    def start(self, id: str) -> Start:
        """Note that the action of this task starts."""
        started = Start(id=id, at=self.world.now)
        self.starts.append(started)
        self.started[id] += 1
        return started

    def process(self, name: str) -> Process:
        """Return a new process, not yet started."""
        self._processes += 1
        return Process(self.world, f"{name}-{self._processes}")

    def run(self, what: Callable[["Machine"], object], name: str = "service") -> None:
        """Have a process of its own do this, from now on. What it raises ends the simulation."""
        process = self.process(name)
        process.start(lambda: (what(Machine(self, process)), None)[1])

    def run_program(self, name: str, main: Callable[[Platform], None]) -> None:
        """Stop the program of this name, if there is one, and start this one."""
        running = self._programs.get(name)
        if running:
            running.is_alive = False  # stopped on purpose: nobody starts it again
        self.world.after(_REDEPLOY if running else 0, lambda: self._start_program(name, main))

    def _start_program(self, name: str, main: Callable[[Platform], None]) -> None:
        process = self._programs[name] = self.process(name)

        def again() -> None:
            self.world.after(_RESTART, lambda: self._start_program(name, main))

        process.start(lambda: main(Machine(self, process)), on_death=again)
