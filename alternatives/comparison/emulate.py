"""Runs a small workload with each design on the embedded stack, all at the same time: some five minutes."""

import logging
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import msgspec
from botocore.exceptions import ClientError

from alternatives.always_on_poller import AlwaysOnPoller
from alternatives.design import Design, NotOffered, Refused, Task
from alternatives.duebell_queue import DuebellQueue
from alternatives.emulated import journal
from alternatives.emulated.machine import EmulatedMachine
from alternatives.eventbridge_scheduler import EventBridgeScheduler
from alternatives.fixed_rate import FixedRate
from alternatives.one_time_rules import OneTimeRules
from alternatives.rule_per_task import RulePerTask
from alternatives.single_rule import SingleRule
from alternatives.sqs_chained import SqsChained
from alternatives.step_functions import StepFunctions
from duebell import Editor
from duebell_infra.local.stack import EmbeddedStack

from .outcome import Expected, Outcome, Started, outcome_of

__all__ = ["DESIGNS", "Emulated", "emulate"]

#: The designs that the emulator runs as AWS would. MiniStack's expiry of items tells no stream, and its S3
#: expires nothing.
DESIGNS: tuple[type[Design], ...] = (
    EventBridgeScheduler,
    StepFunctions,
    SqsChained,
    FixedRate,
    AlwaysOnPoller,
    RulePerTask,
    OneTimeRules,
    SingleRule,
)

_ROOT = Path(__file__).parents[2]

#: From the first add to the last look.
_LASTS = timedelta(minutes=5, seconds=30)

_Say = Callable[[str], None]


class Emulated(msgspec.Struct, kw_only=True):
    """The outcome of the workload, and what a design does not offer of it."""

    outcome: Outcome
    not_offered: list[str]


class _EmulatedDuebell(DuebellQueue):
    """The stack is deployed by `EmbeddedStack`, as `duebell local` does it."""

    def __init__(self, machine: EmulatedMachine, stack: EmbeddedStack) -> None:
        super().__init__(machine)
        self._editor = Editor(stack.settings, session=stack.session)

    @property
    def editor(self) -> Editor:
        return self._editor

    def deploy(self) -> None:
        self._editor.ensure_armed()

    def destroy(self) -> None:
        """The stack goes with its folder."""


class _Workload:
    """The same for each design; ids begin with the design's name."""

    def __init__(self, design: Design, begin: datetime) -> None:
        self.expected: list[Expected] = []
        self.refused: list[str] = []
        self.not_offered: list[str] = []
        self._design = design
        self._begin = begin

    def add_all(self) -> None:
        """Add, move and cancel, all within seconds."""
        random = Random(1)
        for number in range(6):
            self._add(f"second-{number}", random.uniform(90, 170))
        whole = (self._begin + timedelta(minutes=3)).replace(second=0, microsecond=0)
        for number in range(8):
            self._add(f"minute-{number}", (whole - self._begin).total_seconds())
        self._add("later", 100)
        self._add("sooner", 900)
        self._add("cancelled", 110)
        self._add("fails-once", 120, fails=1)
        self._add("recurring", 90, every=timedelta(minutes=1), times=2)
        self._change("later", 170)
        self._change("sooner", 130)
        self._change("cancelled", None)

    def _add(
        self, name: str, seconds: float, *, fails: int = 0, every: timedelta | None = None, times: int = 1
    ) -> None:
        id, due = f"{self._design.name}-{name}", self._begin + timedelta(seconds=seconds)
        payload = {"fails": fails} if fails else {}
        self.expected.append(
            Expected(id=id, due=due, times=times, recurs=every is not None, retried=bool(fails))
        )
        try:
            self._design.add(Task(id=id, due=due, payload=payload, every=every))
        except (Refused, ClientError):
            self.refused.append(id)

    def _change(self, name: str, seconds: float | None) -> None:
        id = f"{self._design.name}-{name}"
        expected = next(each for each in self.expected if each.id == id)
        try:
            if seconds is None:
                self._design.cancel(id)
                expected.due = None
            else:
                due = self._begin + timedelta(seconds=seconds)
                self._design.move(Task(id=id, due=due))
                expected.due = due
        except NotOffered:
            self.not_offered.append(name)
            self.expected.remove(expected)


def emulate(say: _Say = lambda _: None) -> dict[str, Emulated]:
    """Start a stack, deploy every design into it, add, wait, and read what was done: by design."""
    logging.getLogger("duebell").setLevel(logging.ERROR)
    actions = "alternatives.emulated.duebell_actions:worker"
    with (
        tempfile.TemporaryDirectory(prefix="alternatives-") as folder,
        EmbeddedStack(Path(folder), actions=actions, folder=_ROOT) as stack,
    ):
        machine = EmulatedMachine(stack.session)
        journal.create(machine.client("dynamodb"))
        designs = [_EmulatedDuebell(machine, stack), *(design(machine) for design in DESIGNS)]
        workloads: dict[str, _Workload] = {}
        for design in designs:
            design.deploy()
        say(f"{len(designs)} designs are deployed; waiting {_LASTS}")
        begin = datetime.now(UTC)
        for design in designs:
            workloads[design.name] = _Workload(design, begin)
            workloads[design.name].add_all()
        time.sleep(max((begin + _LASTS - datetime.now(UTC)).total_seconds(), 0))
        starts = [
            Started(id=id, at=at, is_done=done) for id, at, done in journal.read(machine.client("dynamodb"))
        ]
        for design in designs:
            design.destroy()
    return {
        name: Emulated(
            outcome=outcome_of(workload.expected, workload.refused, starts), not_offered=workload.not_offered
        )
        for name, workload in workloads.items()
    }
