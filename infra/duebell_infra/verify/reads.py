"""Checks of the reads of the queue: by id, by either index, in a lane apart."""

from collections.abc import Callable
from datetime import timedelta
from random import randrange
from typing import Any

from duebell_shared.aws.endpoint import is_here
from duebell_shared.errors import NotDeployed
from duebell_shared.queue.past_index import Past, PastKey
from duebell_shared.tasks.task import QueueKey, Status

from .check import Found, NotMade, Wrong, check, expect
from .own_tasks import LANE, key_of
from .scene import Scene

__all__ = ["expiry", "history", "index", "read"]

_YEAR = 365 * 86_400

#: A global index lags behind the table by less than this; AWS says a fraction of a second.
#: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html
_LAG = timedelta(seconds=10)


@check()
def read(scene: Scene) -> None:
    """One task, several, and one that is not there."""
    store = scene.store
    tasks = scene.own.stored("read", 2)
    missing = scene.own.make("read-missing")
    scene.answers.clear()
    are_read = [store.get(LANE, task.id) for task in tasks] == tasks and not store.get(LANE, missing.id)
    expect(are_read, "a task is not read as it was written")
    together = store.get_many([key_of(task) for task in (*tasks, missing)])
    expect(
        together == {task.id: task for task in tasks},
        "several tasks read together are not as they were written",
    )


@check()
def index(scene: Scene) -> None:
    """Tasks that were just stored, in order: all, within bounds, from a place on, counted, and the head."""
    store, own = scene.store, scene.own
    # At a time of their own, where no other task of this lane is counted with them.
    apart = timedelta(days=2, seconds=randrange(_YEAR))
    first, *others = (key_of(task) for task in own.stored("index", 4, queued=own.now + apart))
    last = others[-1]
    gone = QueueKey(
        queued=first.queued + timedelta(milliseconds=500), id=own.make("index-gone").id, lane=LANE
    )
    scene.answers.clear()
    _expect_in_order(scene, [first, *others])
    _expect_in_order(scene, [first, *others[:-1]], before=last.queued - timedelta(seconds=1))
    _expect_in_order(scene, others, after=others[0].queued, before=last.queued)
    _expect_in_order(scene, others, after=first)
    _expect_in_order(scene, others, after=gone)  # a place where no item is
    count = store.count(LANE, after=first.queued, before=last.queued, most=4)
    expect(count == len([first, *others]), "the index counts other than it lists")
    is_head = store.head(LANE) <= first.queued
    expect(is_head, "the head of the index is later than a task that was stored before")


@check()
def history(scene: Scene) -> None:
    """Tasks that have ended, in that order and in reverse, from a place on, counted; not in the queue."""
    store, own = scene.store, scene.own
    # At a time of their own, where no other task of this lane is listed with them.
    began = own.now - timedelta(days=2, seconds=randrange(_YEAR))
    ended = []
    for number in range(3):
        at = began + number * timedelta(seconds=1)
        [task] = own.stored(f"history-{number}", status=Status.DONE, finished_at=at, queued=None)
        ended.append(PastKey(at=at, id=task.id, lane=LANE, kind=Past.DONE))
    within = {"after": began, "before": ended[-1].at}
    gone = ended[0]._replace(at=began + timedelta(milliseconds=500), id=own.make("history-gone").id)
    scene.answers.clear()
    try:
        _expect_in_past(scene, ended, **within)
        _expect_in_past(scene, ended[::-1], **within, latest_first=True)
        _expect_in_past(scene, ended[1:], **{**within, "after": gone})  # a place where no item is
        is_counted = _becomes(scene, lambda: store.count_past(LANE, Past.DONE, most=len(ended)) == len(ended))
        expect(is_counted, "past-index counts other than it lists")
    except NotDeployed as error:
        what, _, way_out = str(error).partition(": ")
        raise Wrong(what, way_out) from error
    queued = {key.id for key in store.queued(LANE)}
    expect(queued.isdisjoint(key.id for key in ended), "a task that has ended is in the queue's index")


@check()
def expiry(scene: Scene) -> Found:
    """DynamoDB deletes tasks that have expired."""
    client, table = scene.client("dynamodb"), scene.backend.settings.table
    told = client.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    status, attribute = told["TimeToLiveStatus"], told.get("AttributeName", "expires_at")
    if status in {"ENABLED", "ENABLING"} and attribute == "expires_at":
        return Found(f"time to live by expires_at: {status}")
    if is_here(client.meta.endpoint_url):
        raise NotMade(f"time to live is {status}: the AWS on this machine deletes nothing")
    raise Wrong(
        f"time to live is {status}, by {attribute}: history is never deleted",
        f"aws dynamodb update-time-to-live --table-name {table} --time-to-live-specification "
        f"Enabled=true,AttributeName=expires_at",
    )


def _expect_in_order(scene: Scene, expected: list[QueueKey], **bounds: Any) -> None:
    mine = f"{scene.own.run}-index"
    found = [key for key in scene.store.queued(LANE, **bounds) if key.id.startswith(mine)]
    missing = sorted({key.id for key in expected} - {key.id for key in found})
    what = f"without {missing}" if missing else "order"
    expect(found == expected, f"the index does not list what was stored: {what}")


def _expect_in_past(scene: Scene, expected: list[PastKey], **bounds: Any) -> None:
    is_listed = _becomes(scene, lambda: list(scene.store.past(LANE, Past.DONE, **bounds)) == expected)
    expect(is_listed, "past-index does not list the tasks that have ended, in the order in which they did")


def _becomes(scene: Scene, is_so: Callable[[], bool]) -> bool:
    """Wait until it is so, for a global index lags behind; False if it is not in time."""
    return scene.wait(is_so, until=scene.now() + _LAG)
