"""Histories with a schedule as the bell, and histories in which a live queue changes its bell."""

from collections.abc import Callable
from datetime import timedelta
from random import Random

import pytest
from msgspec.structs import replace

from duebell import AwsError, NotArmed
from duebell_infra.deploy.bells import arm_this_bell
from duebell_shared.backend import Backend
from duebell_shared.bell.bell import BellKind
from duebell_shared.settings import Settings
from tests.simulation.history import History
from tests.simulation.parts.relaning import Relaning
from tests.simulation.processes import backend_of
from tests.simulation.weather import CALM, ROUGH, Faults
from tests.simulation.world import Process

pytestmark = pytest.mark.slow

#: Seconds: when the worker gets the new bell; how much later services have it; when the old one is removed.
_CHANGES, _FOLLOWS, _REMOVED = 900, 1800, (5400, 9000)


class ChangedBell(History):
    """By the steps of `duebell_infra.deploy.bells` the worker sets the new bell from some time on, services
    from a later one; then the old one is gone.

    A process keeps the bell that it began with. `arms` tells whether the deployments arm the queue by the new
    bell, as they must.
    """

    def __init__(self, seed: int, faults: Faults, *, to: BellKind, arms: bool = True) -> None:
        super().__init__(seed, faults, parts={Relaning: False})
        chance = Random(seed + 5)
        [self._left] = set(BellKind) - {to}
        self._taken, self._arms = to, arms
        self._changes = self.world.now + timedelta(seconds=chance.uniform(0, _CHANGES))
        self._follows = self._changes + timedelta(seconds=chance.uniform(0, _FOLLOWS))
        self._by_old: list[Process] = []
        self._lives = 0
        self.aws.bell = to
        self.world.at(self._changes, lambda: self._deploy(lambda _: None))
        self.world.after(chance.uniform(*_REMOVED), self._remove_if_unused)

    def backend(self, process: Process) -> Backend:
        is_service = process.name.startswith("service")
        is_changed = self.world.now >= (self._follows if is_service else self._changes)
        if is_service and not is_changed:
            self._by_old.append(process)
        kind = self._taken if is_changed else self._left
        return backend_of(process, self.aws, replace(self.settings, bell=kind))

    def _remove_if_unused(self) -> None:
        """Have the old bell removed once no service sets it: a process that has not ended may."""
        if any(process.is_alive and not process.has_ended for process in self._by_old):
            self.world.after(600, self._remove_if_unused)
        else:
            self._deploy(self._remove)

    def _remove(self, process: Process) -> None:
        self.aws.removed.add(self._left)
        if self._arms:
            self.backend(process).armer.verify()  # as every deployment does after the stack

    def _deploy(self, then: Callable[[Process], None]) -> None:
        self._lives += 1
        process = Process(self.world, f"deploy-{self._lives}")

        def main() -> None:
            try:
                if self._arms:
                    arm_this_bell(self.backend(process))
                then(process)
            except (AwsError, NotArmed):
                process.kill()

        process.start(main, on_death=lambda: self.world.after(60, lambda: self._deploy(then)))

    def _use(self, process: Process, number: int, life: int) -> None:
        super()._use(process, number, life)
        process.has_ended = True


def broken(histories: list[History]) -> dict[int, list[str]]:
    found = {history.seed: history.run().problems() for history in histories}
    return {seed: problems for seed, problems in found.items() if problems}


@pytest.mark.parametrize("faults", [CALM, ROUGH], ids=["calm", "rough"])
def test_with_a_schedule_the_same_is_promised(faults: Faults) -> None:
    settings = [Settings(lanes=lanes, bell=BellKind.SCHEDULE, function="worker") for lanes in (1, 2, 4)]
    histories = [History(seed, faults, settings=settings[seed % 3]) for seed in range(15)]
    for history in histories:
        history.aws.bell = BellKind.SCHEDULE
    assert not broken(histories)


@pytest.mark.parametrize("to", list(BellKind))
@pytest.mark.parametrize("faults", [CALM, ROUGH], ids=["calm", "rough"])
def test_no_ring_is_missing_while_the_bell_is_changed(to: BellKind, faults: Faults) -> None:
    assert not broken([ChangedBell(seed, faults, to=to) for seed in range(15)])


def test_a_bell_that_is_removed_without_arming_the_other_loses_rings() -> None:
    assert broken([ChangedBell(seed, CALM, to=BellKind.SCHEDULE, arms=False) for seed in range(60)])
