"""Someone who gives the queue of a history more lanes, again and again until that has come to its end."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from duebell import AwsError, NotArmed, Task, TaskConflict
from duebell_editor.library.relane import relane
from duebell_shared.queue.places import lane_of
from tests.simulation.world import Process

from .part import Part, Start

#: Seconds in which tasks are added, and so when lanes are.
_BUSY = 2400


class Relaning(Part):
    """Gives a queue twice its lanes at some time.

    last_at  when a process ended or died last: until then, and for its lease, runs start nothing
    """

    salt, chance = 3, 0.1
    last_at: datetime | None = None

    def start(self) -> None:
        self._world.after(
            self._random.uniform(0, _BUSY),
            lambda: self._live("relaner", self._relane, rest=(1, 200), lives=12),
        )

    def _relane(self, process: Process) -> None:
        try:
            relane(self._played.backend(process), 2 * self._played.settings.lanes)
        except (AwsError, NotArmed, TaskConflict):
            process.kill()
        else:
            self._died()

    def _died(self) -> None:
        self.last_at = self._world.now

    def problems(self, tasks: Sequence[Task], starts: Sequence[Start]) -> Iterator[str]:
        ids = [task.id for task in tasks]
        yield from (f"{id} is there twice" for id in sorted({id for id in ids if ids.count(id) > 1}))
        record = self._played.stored.record
        counts = record.counts if record else ()
        for task in tasks:
            if task.lane not in {lane_of(task.id, count) for count in counts}:
                yield f"{task.id} in lane {task.lane} is found by none of {counts}"
