"""Two runs that wait to the second, and a store in which something happens between their steps."""

from collections.abc import Callable
from datetime import datetime, timedelta

from msgspec.structs import replace

from duebell_infra.testing import MemoryStore
from duebell_shared.backend import Backend
from duebell_worker.run.lease import Lease
from tests.support import Clock
from tests.worker.hooked_store import HookedStore

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)

#: How long a run that waits may take to see what is in the arming record.
LOOK = timedelta(seconds=0.25)


class Other:
    """Another run, which holds these lanes and waits."""

    def __init__(self, backend: Backend, *lanes: int) -> None:
        self._backend = backend
        self.lease = Lease.claim(backend.armer, "other", backend.clock, only=lanes)
        self.lease.arm()

    def takes_over(self) -> None:
        """Say so, and not the run under test, which was the first to see that there are two."""
        self._backend.armer.change(lambda record: replace(record, taker="other"))

    def gives(self) -> None:
        """Give its lanes to the run that takes them over."""
        self.lease.clear()
        heads = {lane: MemoryStore.head(self._store, lane) for lane in self.lease.lanes}
        assert self.lease.release(heads, unless_due_within=MINUTE, to_taker=True) is None

    @property
    def _store(self) -> HookedStore:
        assert isinstance(self._backend.store, HookedStore)
        return self._backend.store


def once(clock: Clock, moment: datetime, what: Callable[[], object]) -> Callable[..., None]:
    """Do this once, when it is that time or later."""
    done: list[bool] = []

    def act(*_: object) -> None:
        if clock.now >= moment and not done:
            done.append(True)
            what()

    return act
