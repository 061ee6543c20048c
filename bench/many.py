"""The gain of `add_many` over adding one by one: ten thousand tasks, beside a loop of bare put_item."""

from datetime import UTC, datetime

import boto3
import msgspec
from tests.support import create_rule, create_table

from bench.queues import PAYLOAD, bare_client, item_of
from bench.timing import Ratio, Rounds, side_by_side
from duebell import Editor, Settings

__all__ = ["LIMIT", "TASKS", "Many", "measure"]

#: The least rate of `add_many`, in multiples of a loop of bare put_item.
LIMIT = 5.0

TASKS = 10_000

_ROUNDS = 5

#: The puts that stand for the whole loop: each takes as long as any other.
_PUTS = 2_500

_DUE = datetime(2100, 1, 1, tzinfo=UTC)


class Many(msgspec.Struct, frozen=True, kw_only=True):
    """The time for one task, of this number that were added at once."""

    tasks: int
    rounds: Rounds

    @property
    def gain(self) -> Ratio:
        """The speed in multiples of the loop."""
        return self.rounds.ratio("put_item", "add_many")


def measure(session: boto3.Session) -> Many:
    """Each round adds to queues of its own, empty ones."""
    client = bare_client(session)
    template = item_of("task", _DUE)
    names = iter(range(2 * _ROUNDS))

    def add_many(tasks: int) -> None:
        name = f"many-{next(names)}"
        editor = Editor(Settings(table=name, rule=name), session=session)
        report = editor.add_many(
            {"action": "act", "due": _DUE, "payload": PAYLOAD, "id": f"task-{number}"}
            for number in range(tasks)
        )
        if len(report.added) != tasks:
            raise RuntimeError(f"{len(report.added)} of {tasks} were added")

    def put_item(table: str) -> None:
        for number in range(_PUTS):
            client.put_item(TableName=table, Item={**template, "id": {"S": f"task-{number}"}})

    for number in range(2 * _ROUNDS):
        create_table(session, f"many-{number}")
        create_rule(session, f"many-{number}")
    whole = side_by_side(
        {"add_many": lambda: add_many(TASKS), "put_item": lambda: put_item(f"many-{next(names)}")},
        rounds=_ROUNDS,
        repeats=1,
    )
    per_task = {"add_many": TASKS, "put_item": _PUTS}
    us = {name: [each / per_task[name] for each in column] for name, column in whole.us.items()}
    return Many(tasks=TASKS, rounds=Rounds(us=us))
