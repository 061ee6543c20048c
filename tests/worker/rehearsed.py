"""A worker whose tasks go to a rehearsal's queue in memory, and a payload for its actions."""

from dataclasses import dataclass
from datetime import timedelta

import pytest

from duebell import Worker
from duebell.testing import Rehearsal

HOUR = timedelta(hours=1)


@dataclass
class Sale:
    item: int
    price: float = 1.5


@pytest.fixture
def worker() -> Worker:
    return Worker()


@pytest.fixture
def rehearsal(worker: Worker) -> Rehearsal:
    return Rehearsal(worker)
