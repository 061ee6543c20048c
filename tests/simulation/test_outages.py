"""Outages, and the time after which the queue goes on by itself, with no call meanwhile."""

import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from duebell import Editor
from duebell_shared.settings import Precision, Settings
from tests.simulation.history import History
from tests.simulation.weather import SERVICES, Faults, Outage
from tests.simulation.world import Process
from tests.support import NOON

pytestmark = pytest.mark.slow

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)

#: When the tasks are due, and when the outage begins: with the rule armed, and before it rings.
DUE, BEGINS = NOON + 15 * MINUTE, NOON + 14 * MINUTE

#: An echo comes within the hour; the ring in its minute, its delivery and the run take two minutes more.
BOUND = HOUR + 2 * MINUTE


class IdleQueue(History):
    """Tasks that are added before noon is long over, and nobody who calls again."""

    def _use(self, process: Process, number: int, life: int) -> None:
        editor = Editor(backend=self.backend(process))
        for each in range(5):
            known = self._new(DUE + each * timedelta(seconds=20), "quick")
            self._add(editor, process, f"{number}-{life}.{each}", known)


def play(services: tuple[str, ...], lasts: timedelta, *, precision: Precision = Precision.MINUTE) -> datetime:
    """The latest start of a task in some histories with this outage; each must have been started once."""
    latest = NOON
    for seed in range(8):
        outage = Outage(of=services, begins=BEGINS, ends=BEGINS + lasts)
        settings = Settings(lanes=2, precision=precision, function="worker")
        history = IdleQueue(seed, Faults(), settings=settings, outage=outage).run()
        assert not [problem for problem in history.problems() if "calm" not in problem], f"seed {seed}"
        assert sorted(start.id for start in history.starts) == sorted(history.known), f"seed {seed}"
        latest = max(latest, *(start.at for start in history.starts))
    return latest


def documented(out: tuple[str, ...], minutes: int) -> timedelta:
    """The time from the end of this outage until the queue goes on, as docs/guarantees.md has it."""
    page = (Path(__file__).parents[2] / "docs" / "guarantees.md").read_text(encoding="utf-8")
    table = page.partition("| out for |")[2].partition("\n\n")[0].splitlines()[2:]
    cells = [re.findall(r"\d+(?= min \|)", row) for row in table]
    place = [2, 5, 12, 30, 60].index(min(minutes, 60))
    return int(cells[place][SERVICES.index(out[0]) if out != SERVICES else -1]) * MINUTE


@pytest.mark.parametrize(
    ("precision", "minutes"),
    [*((Precision.MINUTE, minutes) for minutes in (2, 5, 12, 30, 60, 300)), (Precision.SECOND, 30)],
)
@pytest.mark.parametrize("out", [*((service,) for service in SERVICES), SERVICES], ids="+".join)
def test_a_queue_goes_on_by_itself_within_the_hour(
    out: tuple[str, ...], minutes: int, precision: Precision
) -> None:
    # Given tasks that are due, a rule that is armed, and an outage that begins just before it rings
    lasts = minutes * MINUTE
    latest = play(out, lasts, precision=precision)
    # Then all of them are started within about an hour after it has ended
    after = latest - (BEGINS + lasts)
    assert after <= BOUND
    if precision is Precision.MINUTE:
        assert timedelta(0) <= documented(out, minutes) - after < 2 * MINUTE
