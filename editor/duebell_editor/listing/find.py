"""Finding tasks by the beginning of their ids: by the table's own key, so at once, however many there are."""

from duebell_shared.errors import InvalidQuery
from duebell_shared.tasks.task import Task

from .cursors import LONGEST_KEY, wrong_cursor
from .listing import Page
from .queue import Queue, has_expired

__all__ = ["find_tasks"]


def find_tasks(queue: Queue, prefix: str, *, limit: int, cursor: str | None) -> Page:
    """A page of the tasks with this beginning, of any status, in order of their ids' UTF-8.

    Each lane is read with one call, which may end before the lane does: then only what is before the first of
    these ends is told, and the cursor, an id, goes on from there.
    """
    if not prefix:
        raise InvalidQuery("prefix", "must not be empty: say how the ids begin")
    if cursor is not None and not 1 <= len(cursor.encode(errors="replace")) <= LONGEST_KEY:
        raise wrong_cursor()
    lanes = range(queue.lanes_now())
    found = queue.parallel.all(
        lambda lane: queue.store.named(lane, prefix, after=cursor, most=limit + 1), lanes
    )
    ends = [end.encode() for _, end in found if end is not None]
    now, known = queue.clock(), dict[bytes, Task]()
    for tasks, _ in found:
        known |= {task.id.encode(): task for task in tasks if not has_expired(task, now)}
    ids = sorted(id for id in known if not ends or id <= min(ends))
    last = ids[limit - 1] if len(ids) > limit else min(ends, default=None)
    return Page(tasks=tuple(known[id] for id in ids[:limit]), cursor=None if last is None else last.decode())
