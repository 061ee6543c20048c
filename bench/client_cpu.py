"""The processor time that an add takes in its own process, beside a bare put_item and get_item."""

import itertools
from datetime import UTC, datetime, timedelta

from bench.queues import PAYLOAD, bare_client, item_of
from bench.stub import stub
from bench.timing import Rounds, on_processor, side_by_side
from duebell import Editor, Settings
from duebell_infra.local.ministack import embedded_session
from duebell_shared.queue.records import ARMING

__all__ = ["LIMIT", "REPEATS", "measure"]

#: The most processor time of an add, in multiples of that of the bare calls. A busy machine measures more.
LIMIT = 1.2

#: Adds in a row, in each of the rounds.
REPEATS = 50

_HEAD = datetime(2100, 1, 1, tzinfo=UTC)
_LATER = _HEAD + timedelta(days=1)


def measure() -> Rounds:
    """Microseconds of processor time for one, against a server that answers at once."""
    with stub() as endpoint:
        session = embedded_session(endpoint, "stub")
        editor = Editor(Settings(), session=session)
        editor.add("act", due=_HEAD)
        client = bare_client(session)
        numbers = itertools.count()
        template = item_of("task", _LATER)
        record = {"lane": {"S": ARMING}, "id": {"S": ARMING}}

        def ours() -> None:
            editor.add("act", due=_LATER, payload=PAYLOAD, id=f"task-{next(numbers)}")

        def bare() -> None:
            client.put_item(TableName="duebell", Item={**template, "id": {"S": f"task-{next(numbers)}"}})
            client.get_item(TableName="duebell", Key=record, ConsistentRead=True)

        calls = {"duebell": ours, "bare": bare}
        for call in calls.values():
            call()
        return side_by_side(calls, rounds=40, repeats=REPEATS, clock=on_processor)
