"""The queue in memory, for several threads, and for others that get in between."""

from collections.abc import Callable
from datetime import datetime
from threading import Condition, local

import msgspec

from duebell_infra.testing import MemoryStore
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.task import Task


class SharedStore(MemoryStore):
    """Each verb is one step, whatever threads do. `getting_in_first` comes before the next swaps, in turn."""

    def __init__(self) -> None:
        super().__init__()
        self.getting_in_first: list[Callable[[], object]] = []
        self.reads = 0
        self.swaps = 0
        self._changed = Condition()
        self._seen = local()

    def read_record(self) -> ArmingRecord | None:
        with self._changed:
            self.reads += 1
            self._seen.swaps = self.swaps
            return super().read_record()

    def swap_record(self, old: ArmingRecord | None, new: ArmingRecord) -> ArmingRecord | None:
        if self.getting_in_first:
            self.getting_in_first.pop(0)()
        with self._changed:
            swapped = super().swap_record(old, new)
            self.swaps += bool(swapped)
            self._changed.notify_all()
            return swapped

    def insert(self, task: Task) -> bool:
        with self._changed:
            return super().insert(task)

    def wait_in_queue(self, lane: int, due: datetime) -> None:
        """Put a task into that lane, of which the record need not know."""
        made = msgspec.structs.replace(
            new_task(id=f"in-{lane}", action="act", due=due, payload=None, now=due), lane=lane
        )
        assert self.insert(made)

    def now_holds(self, record: ArmingRecord) -> ArmingRecord:
        """Write the record whatever there is, as another process would have."""
        swapped = super().swap_record(self.record, record)
        assert swapped
        return swapped

    def wait_for_a_change(self, _: float) -> None:
        """Instead of sleeping: wait until the record is another than this thread has read."""
        with self._changed:
            is_other = self._changed.wait_for(lambda: self.swaps != self._seen.swaps, timeout=60)
        assert is_other, "waits for somebody who does nothing"
