"""A queue in memory for the tests of arming, with others that get in between, and a rule."""

from datetime import datetime

import msgspec
import pytest

from duebell_infra.testing import MemoryStore
from duebell_shared.bell.armer import Armer
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.bell.bell import Bell, RingSchedule, Rule
from duebell_shared.tasks.new_task import new_task
from tests.shared.fake_events import FakeEvents, FakeScheduler
from tests.support import Clock

LANES = 2


class SharedStore(MemoryStore):
    """Counts reads and swaps of the record."""

    reads = swaps = 0

    def read_record(self) -> ArmingRecord | None:
        self.reads += 1
        return super().read_record()

    def swap_record(self, old: ArmingRecord | None, new: ArmingRecord) -> ArmingRecord | None:
        swapped = super().swap_record(old, new)
        self.swaps += bool(swapped)
        return swapped

    def wait_in_queue(self, lane: int, due: datetime) -> None:
        """Put a task into that lane, of which the record need not know."""
        made = new_task(id=f"in-{lane}", action="act", due=due, payload=None, now=due)
        assert self.insert(msgspec.structs.replace(made, lane=lane))

    def now_holds(self, record: ArmingRecord) -> ArmingRecord:
        """Write the record whatever there is, as another process would have."""
        swapped = super().swap_record(self.record, record)
        assert swapped
        return swapped


@pytest.fixture
def store() -> SharedStore:
    return SharedStore()


@pytest.fixture
def eventbridge(clock: Clock) -> FakeEvents:
    return FakeEvents(clock)


@pytest.fixture
def rule(eventbridge: FakeEvents, clock: Clock) -> Bell:
    kind = RingSchedule if isinstance(eventbridge, FakeScheduler) else Rule
    return kind("duebell", eventbridge.client, clock=clock, sleep=clock.sleep)


@pytest.fixture
def armer(store: SharedStore, rule: Bell, clock: Clock) -> Armer:
    return Armer(store, rule, lanes=LANES, clock=clock, sleep=clock.sleep)
