"""Plays each scene with each design, in simulated time, and keeps what came of it."""

import logging
from collections import Counter
from collections.abc import Callable
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

__all__ = ["ROWS", "Played", "Row", "play", "simulate"]


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
    """What came of a scene: the outcome, calls to AWS, and what is billed."""

    outcome: Outcome
    calls: dict[str, int]
    billed: dict[str, float]
    offers: bool = True


_DAYS = timedelta(days=3)


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
    logging.getLogger("duebell").setLevel(logging.CRITICAL)  # what fails here fails on purpose
    return {row.name: {name: play(row, make) for name, make in SCENES.items()} for row in ROWS}


def play(row: Row, make: Callable[[datetime], Scene], seed: int = 1) -> Played:
    """Play a scene with a design."""
    world = World(seed)
    account = Account(world, row.manners)
    scene = make(world.now + timedelta(hours=1))
    account.run(lambda machine: row.design(machine).deploy())
    _let_the_executor_die(account, scene.dies_after)
    world.run_until(world.now + timedelta(minutes=50))
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
        offers=not not_offered,
    )


def _let_the_executor_die(account: Account, after: int | None) -> None:
    """Have the process die that has done so many actions in all, once the action is done."""
    done: list[str] = []

    def look(process: Process, id: str) -> None:
        done.append(id)
        if len(done) == after:
            process.kill()

    account.after_action = look
