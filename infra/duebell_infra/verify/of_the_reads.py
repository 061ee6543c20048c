"""Checks of the reads of the queue: by id, by either index, in a lane apart."""

from collections.abc import Callable
from datetime import timedelta
from random import randrange

from duebell_shared.endpoint import is_here
from duebell_shared.errors import NotDeployed
from duebell_shared.past_index import Past, PastKey
from duebell_shared.task import QueueKey, Status, Task

from .finding import Found, NotMade, Wrong
from .own_tasks import LANE
from .scene import Scene

__all__ = ["expiry", "history", "index", "read"]

_YEAR = 365 * 86_400

#: How long a global index may lag behind the table: a fraction of a second, as AWS has it.
#: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html
_LAG = timedelta(seconds=10)


def read(scene: Scene) -> Found:
    """One task, several, and one that is not there."""
    store, own = scene.backend.store, scene.own
    tasks = own.stored("read", 2)
    missing = own.make("read-missing")
    scene.answers.clear()
    if [store.get(LANE, task.id) for task in tasks] != tasks or store.get(LANE, missing.id):
        raise Wrong("a task is not read as it was written")
    if store.get_many([_key(task) for task in (*tasks, missing)]) != {task.id: task for task in tasks}:
        raise Wrong("several tasks read together are not as they were written")
    return Found(str(scene.answers))


def index(scene: Scene) -> Found:
    """What was stored this moment, in order: all, within bounds, from a place on, counted, and the head."""
    store, own = scene.backend.store, scene.own
    # At a time of their own, where no other task of this lane is counted with them.
    apart = timedelta(days=2, seconds=randrange(_YEAR))
    first, *others = (_key(task) for task in own.stored("index", 4, queued=own.now + apart))
    last = others[-1]
    gone = QueueKey(
        queued=first.queued + timedelta(milliseconds=500), id=own.make("index-gone").id, lane=LANE
    )
    scene.answers.clear()
    _in_order(scene, [first, *others])
    _in_order(scene, [first, *others[:-1]], before=last.queued - timedelta(seconds=1))
    _in_order(scene, others, after=others[0].queued, before=last.queued)
    _in_order(scene, others, after=first)
    _in_order(scene, others, after=gone)  # a place where no item is
    if store.count(LANE, after=first.queued, before=last.queued, most=4) != 4:  # noqa: PLR2004
        raise Wrong("the index counts other than it lists")
    if store.head(LANE) > first.queued:
        raise Wrong("the head of the index is later than a task that was stored before")
    return Found(str(scene.answers))


def history(scene: Scene) -> Found:
    """Tasks that have ended, in that order and in reverse, from a place on, counted; not in the queue."""
    store, own = scene.backend.store, scene.own
    # At a time of their own, where no other task of this lane is listed with them.
    began = own.now - timedelta(days=2, seconds=randrange(_YEAR))
    ends = [began + number * timedelta(seconds=1) for number in range(3)]
    tasks = [
        own.stored(f"history-{number}", status=Status.DONE, finished_at=at, queued=None)[0]
        for number, at in enumerate(ends)
    ]
    ended = [
        PastKey(at=at, id=task.id, lane=LANE, kind=Past.DONE) for at, task in zip(ends, tasks, strict=True)
    ]
    gone = ended[0]._replace(at=began + timedelta(milliseconds=500), id=own.make("history-gone").id)
    scene.answers.clear()
    try:
        _in_the_past(scene, ended, after=ends[0], before=ends[-1])
        _in_the_past(scene, ended[::-1], after=ends[0], before=ends[-1], latest_first=True)
        _in_the_past(scene, ended[1:], after=gone, before=ends[-1])  # a place where no item is
        if not _comes(scene, lambda: store.count_past(LANE, Past.DONE, most=len(ended)) == len(ended)):
            raise Wrong("past-index counts other than it lists")
    except NotDeployed as error:
        raise Wrong(
            str(error), "`duebell deploy`, or Terraform, adds past-index to the table in place"
        ) from error
    if any(key.id == task.id for key in store.queued(LANE) for task in tasks):
        raise Wrong("a task that has ended is in the queue's index")
    return Found(str(scene.answers))


def expiry(scene: Scene) -> Found:
    """Whether DynamoDB deletes what has expired."""
    client = scene.client("dynamodb")
    table = scene.backend.settings.table
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


def _in_order(scene: Scene, expected: list[QueueKey], **bounds: object) -> None:
    ids = {key.id for key in expected}
    mine = f"{scene.own.run}-index"
    found = [key for key in scene.backend.store.queued(LANE, **bounds) if key.id.startswith(mine)]  # type: ignore[arg-type]
    if found != expected:
        missing = sorted(ids - {key.id for key in found})
        raise Wrong(
            f"the index does not list what was stored: {f'without {missing}' if missing else 'order'}"
        )


def _in_the_past(scene: Scene, expected: list[PastKey], **bounds: object) -> None:
    def is_listed() -> bool:
        return list(scene.backend.store.past(LANE, Past.DONE, **bounds)) == expected  # type: ignore[arg-type]

    if not _comes(scene, is_listed):
        raise Wrong("past-index does not list the tasks that have ended, in the order in which they did")


def _comes(scene: Scene, is_so: Callable[[], bool]) -> bool:
    """Whether it becomes so: a global index lags behind."""
    return scene.wait(is_so, until=scene.now() + _LAG)


def _key(task: Task) -> QueueKey:
    return QueueKey(queued=task.queued or task.due, id=task.id, lane=task.lane)
