"""A queue in memory that does not answer some calls, and in which something happens at others."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from duebell_infra.testing import MemoryStore
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.errors import AwsError, AwsUnavailable, DuebellError
from duebell_shared.parallel import result_or_error
from duebell_shared.queue.records import Record
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import QueueKey, Task

READS = frozenset({"queued", "head", "count"})
WRITES = frozenset({"claim", "save"})


class HookedStore(MemoryStore):
    """`refuses(verb, lane)` says which calls are not answered; `calls` counts all, by verb and lane.

    Records are read and swapped in lane 0, as in `("read Limits", 0)`.

    Something can happen before the record is read or written, and after a head was read.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[tuple[str, int]] = Counter()
        self.error: type[AwsError] = AwsUnavailable
        self.refuses: Callable[[str, int], bool] = lambda _verb, _lane: False
        self.on_read: Callable[[], object] = lambda: None
        self.on_write: Callable[[ArmingRecord], object] = lambda _: None
        self.on_head: Callable[[int], object] = lambda _: None

    def refuse(self, lanes: Collection[int], verbs: Collection[str] = READS | WRITES) -> None:
        """Do not answer these calls for these lanes from now on, and answer all others."""
        self.refuses = lambda verb, lane: lane in lanes and verb in verbs

    def queued(self, lane: int, **bounds: Any) -> Iterator[QueueKey]:
        self._call("queued", lane)
        yield from super().queued(lane, **bounds)

    def head(self, lane: int, *, skipping: Collection[QueueKey] = ()) -> datetime:
        self._call("head", lane)
        head = super().head(lane, skipping=skipping)
        self.on_head(lane)
        return head

    def read_record(self) -> ArmingRecord | None:
        self._call("read ArmingRecord", 0)
        self.on_read()
        return super().read_record()

    def swap_record(self, old: ArmingRecord | None, new: ArmingRecord) -> ArmingRecord | None:
        self._call("swap ArmingRecord", 0)
        self.on_write(new)
        return super().swap_record(old, new)

    def read(self, kind: type[Record], name: str = "", *, consistent: bool = True) -> Record | None:
        self._call(f"read {kind.__name__}", 0)
        return super().read(kind, name)

    def swap(self, old: Record | None, new: Record, name: str = "") -> Record | None:
        self._call(f"swap {type(new).__name__}", 0)
        return super().swap(old, new, name)

    def count(self, lane: int, **bounds: Any) -> int:
        self._call("count", lane)
        return super().count(lane, **bounds)

    def claim(self, key: QueueKey, *, run: str, now: datetime, status: Status) -> Task | None:
        self._call("claim", key.lane)
        return super().claim(key, run=run, now=now, status=status)

    def claim_many(
        self, keys: Sequence[QueueKey], *, run: str, now: datetime, status: Status
    ) -> list[Task | DuebellError | None]:
        claim = partial(self.claim, run=run, now=now, status=status)
        return [result_or_error(claim, key) for key in keys]

    def save(self, old: Task, new: Task | None) -> bool:
        self._call("save", old.lane)
        return super().save(old, new)

    def save_many(self, changes: Sequence[tuple[Task, Task | None]]) -> list[bool | DuebellError]:
        return [result_or_error(lambda change: self.save(*change), change) for change in changes]

    def _call(self, verb: str, lane: int) -> None:
        self.calls[verb, lane] += 1
        if self.refuses(verb, lane):
            raise self.error(f"the test does not answer {verb} for lane {lane}")
