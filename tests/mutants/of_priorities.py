"""Mutants of priorities: the sort key that they are a part of, and the order in which a run starts tasks."""

from .mutant import Killer, Mutant

__all__ = ["OF_PRIORITIES"]

_ORDER = "shared/duebell_shared/queue/queue_order.py"
_ITEMS = "shared/duebell_shared/queue/items.py"
_TABLE = "shared/duebell_shared/queue/table.py"
_AHEAD = "worker/duebell_worker/run/look_ahead.py"
_RUN = "worker/duebell_worker/run/run.py"
_READER = "worker/duebell_worker/run/lane_reader.py"

OF_PRIORITIES = (
    Mutant(
        name="the lowest priority first in the index",
        file=_ORDER,
        line='return f"{text[:-1]}{_SEPARATOR}{MAX_PRIORITY + 1 - priority}" if priority else text',
        broken='return f"{text[:-1]}{_SEPARATOR}{priority}" if priority else text',
        why="of one moment, what is urgent is last",
        killers=(Killer.ORDER,),
    ),
    Mutant(
        name="a key that no version writes is read",
        file=_ORDER,
        line="if not 0 <= priority <= MAX_PRIORITY or render_queued(at, priority) != text:",
        broken="if False:",
        why="a task is claimed by another text than its key, never takes, and the run goes round and round",
        killers=(Killer.ORDER,),
    ),
    Mutant(
        name="the key without the priority",
        file=_ITEMS,
        line="        item |= stored(queued=(task.queued, task.priority))\n",
        broken="        pass\n",
        why="the index is in order of time alone, and a run sees no priority",
        killers=(Killer.ORDER,),
    ),
    Mutant(
        name="another priority, the same key",
        file=_ITEMS,
        line="        changed.append(_QUEUED)\n",
        broken="        pass\n",
        why="an update of the priority has no effect until the task is retried",
        killers=(Killer.ORDER,),
    ),
    Mutant(
        name="a bound that leaves out what has a priority",
        file=_TABLE,
        line="        first = (after, MAX_PRIORITY)  # of its millisecond\n",
        broken="        first = after\n",
        why="a listing from a time on lacks the urgent tasks of its first millisecond",
        killers=(Killer.ORDER,),
    ),
    Mutant(
        name="the next page from a place without its priority",
        file=_TABLE,
        line="queued=(place.queued, place.priority))",
        broken="queued=place.queued)",
        why="tasks of the same millisecond are left out of a listing, or come twice",
        killers=(Killer.ORDER,),
    ),
    Mutant(
        name="claimed whatever its priority",
        file="shared/duebell_shared/queue/task_changes.py",
        line="queued=(key.queued, key.priority)),",
        broken="queued=key.queued),",
        why="no task with a priority can be claimed",
        killers=(Killer.ORDER,),
    ),
    Mutant(
        name="started in order of time",
        file=_AHEAD,
        line="(-key.priority, key.queued, self._read, key)",
        broken="(0, key.queued, self._read, key)",
        why="what is urgent waits for all that was due before it",
        killers=(Killer.PRIORITIES,),
    ),
    Mutant(
        name="of one priority, whichever",
        file=_AHEAD,
        line="(-key.priority, key.queued, self._read, key)",
        broken="(-key.priority, key.queued, -self._read, key)",
        why="tasks of one moment and priority are started the last first",
        killers=(Killer.PRIORITIES,),
    ),
    Mutant(
        name="no more in sight while tasks wait",
        file=_RUN,
        line="                ahead.read_on()\n",
        broken="                pass\n",
        why="in a burst only the next hundred tasks are in order of priority",
        killers=(Killer.PRIORITIES,),
    ),
    Mutant(
        name="a burst that is not seen through",
        file=_AHEAD,
        line="most = _MOST_WITH_PRIORITIES if self._has_priorities else _MOST",
        broken="most = _MOST",
        why="in a burst only the next thousand tasks are in order of priority",
        killers=(Killer.PRIORITIES,),
    ),
    Mutant(
        name="read ahead without a bound",
        file=_AHEAD,
        line="self._read_to(min(len(self._in_sight) + _AT_ONCE, most))",
        broken="self._read_to(len(self._in_sight) + _AT_ONCE)",
        why="a run of millions of due tasks is out of memory",
        killers=(Killer.PRIORITIES,),
    ),
    Mutant(
        name="what is under way is started again",
        file=_AHEAD,
        line="            if key not in skipping:\n",
        broken="            if True:\n",
        why="tasks that run are claimed once more at each look",
        killers=(Killer.PRIORITIES,),
    ),
    Mutant(
        name="the lanes merged by time and id",
        file=_READER,
        line="key=lambda key: (key.order, key.id)",
        broken="key=lambda key: (key.queued, key.id)",
        why="of one moment, tasks without a priority of one lane go before urgent ones of another",
        killers=(Killer.PRIORITIES,),
    ),
)
