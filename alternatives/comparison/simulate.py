"""Plays each scene with each design, in simulated time, and keeps what came of it."""

import logging
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

import msgspec
from botocore.exceptions import ClientError
from tests.simulation.world import Process, World

from alternatives.always_on_poller import AlwaysOnPoller
from alternatives.design import Design, NotOffered, Platform, Refused
from alternatives.eventbridge_scheduler import EventBridgeScheduler
from alternatives.fixed_rate import FixedRate
from alternatives.one_time_rules import OneTimeRules, OneTimeRulesLeft
from alternatives.rule_per_task import RulePerTask
from alternatives.s3_expiry import S3Expiry
from alternatives.simulated.account import Account
from alternatives.simulated.duebell import SimulatedDuebell, SimulatedDuebellToTheSecond
from alternatives.simulated.machine import Machine
from alternatives.simulated.manners import MEASURED_TTL, PROMISED_TTL, Manners
from alternatives.single_rule import SingleRule
from alternatives.sqs_chained import SqsChained
from alternatives.step_functions import StepFunctions
from alternatives.ttl_stream import TtlStream

from .outcome import Outcome, Started, outcome_of
from .scenes import SCENES, Scene

__all__ = ["ROWS", "Idle", "Played", "Row", "idle", "play", "simulate"]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A design, with the manners of AWS that it is played with.

    patience  how long after the last due date a task counts as lost
    """

    name: str
    title: str
    design: Callable[[Platform], Design]
    manners: Manners = MEASURED_TTL
    patience: timedelta = timedelta(hours=6)


class Played(msgspec.Struct, kw_only=True):
    """The result of a scene: its outcome, the calls to AWS, the billed units, and the time that it simulates.

    offers  False if the design does not offer what the scene asks for
    """

    outcome: Outcome
    calls: dict[str, int]
    billed: dict[str, float]
    hours: float
    offers: bool = True


class Idle(msgspec.Struct, kw_only=True):
    """The units of an hour in which nothing is due."""

    calls: dict[str, float]
    billed: dict[str, float]


_DAYS = timedelta(days=3)

#: From the deployment to the first step, and for how long a design is seen standing idle.
_DEPLOYING, _IDLE = timedelta(minutes=50), timedelta(hours=24)


def _row(design: type[Design], **more: object) -> Row:
    return Row(**{"name": design.name, "title": design.title, "design": design, **more})  # type: ignore[arg-type]


ROWS = (
    _row(SimulatedDuebell),
    _row(SimulatedDuebellToTheSecond),
    _row(EventBridgeScheduler),
    _row(StepFunctions),
    _row(SqsChained),
    _row(FixedRate),
    _row(AlwaysOnPoller),
    _row(RulePerTask),
    _row(OneTimeRules),
    _row(OneTimeRulesLeft),
    _row(SingleRule),
    _row(TtlStream, patience=_DAYS),
    _row(
        TtlStream,
        name="ttl-stream-promised",
        title="DynamoDB TTL and stream, at its slowest",
        manners=PROMISED_TTL,
        patience=_DAYS,
    ),
    _row(S3Expiry, patience=_DAYS),
)


def simulate() -> dict[str, dict[str, Played]]:
    """Play all scenes with all designs: by design, by scene."""
    for logger in ("duebell", "alternatives"):  # what fails here fails on purpose
        logging.getLogger(logger).setLevel(logging.CRITICAL)
    return {row.name: {name: play(row, make) for name, make in SCENES.items()} for row in ROWS}


def idle() -> dict[str, Idle]:
    """See every design stand idle, by its name."""
    return {row.name: _idle(row) for row in ROWS}


def _idle(row: Row) -> Idle:
    world = World(1)
    account = Account(world, row.manners)
    account.run(lambda machine: row.design(machine).deploy())
    world.run_until(world.now + _DEPLOYING)
    deployed = Counter(account.calls)
    account.billed.clear()
    world.run_until(world.now + _IDLE)
    hours = _IDLE / timedelta(hours=1)
    return Idle(
        calls={name: calls / hours for name, calls in (Counter(account.calls) - deployed).items()},
        billed={name: units / hours for name, units in account.billed.items()},
    )


def play(row: Row, make: Callable[[datetime], Scene], seed: int = 1) -> Played:
    """Play a scene with a design. The same seed gives the same outcome."""
    with _seeded(seed):
        return _play(row, make, seed)


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed the one source of chance that duebell's own code draws from, and give it back as it was."""
    state = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(state)


def _play(row: Row, make: Callable[[datetime], Scene], seed: int) -> Played:
    world = World(seed)
    account = Account(world, row.manners)
    scene = make(world.now + timedelta(hours=1))
    account.run(lambda machine: row.design(machine).deploy())
    _let_the_executor_die(account, scene.dies_after)
    world.run_until(world.now + _DEPLOYING)
    begins = world.now
    deployed = Counter(account.calls)
    account.billed.clear()
    refused: list[str] = []
    not_offered: list[str] = []
    for step in scene.steps:

        def do(machine: Machine, what: Callable[[Design], None] = step.what, id: str = step.id) -> None:
            try:
                what(row.design(machine))
            except (Refused, ClientError):
                refused.append(id)
            except NotOffered as why:
                not_offered.append(str(why))

        world.at(step.at, lambda do=do: account.run(do))  # type: ignore[misc]
    last = max(each.due for each in scene.expected if each.due)
    recurs = any(each.recurs for each in scene.expected)
    world.run_until(last + (timedelta(hours=23.5) if recurs else timedelta()) + row.patience)
    starts = [Started(id=each.id, at=each.at, is_done=each.done is not None) for each in account.starts]
    return Played(
        outcome=outcome_of(scene.expected, refused, starts),
        calls=dict(Counter(account.calls) - deployed),
        billed=dict(account.billed),
        hours=(world.now - begins) / timedelta(hours=1),
        offers=not not_offered and len(refused) < len(scene.expected),
    )


def _let_the_executor_die(account: Account, after: int | None) -> None:
    """Have the process die that has done so many actions in all, once the action is done."""
    done: list[str] = []

    def look(process: Process, id: str) -> None:
        done.append(id)
        if len(done) == after:
            process.kill()

    account.after_action = look
