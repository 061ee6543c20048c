"""A history in which a live queue changes its bell, by the steps of `duebell_infra.deploy.bells`."""

from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any

from msgspec.structs import replace

from duebell import AwsError, NotArmed
from duebell_infra.deploy.bells import arm_by
from duebell_shared.backend import Backend
from duebell_shared.bell.bell import BellKind

from .faults import Faults
from .history import History
from .processes import backend_of
from .world import Process

__all__ = ["ChangedBell"]

#: Seconds: when the worker gets the new bell; how much later services have it; when the old one is removed.
_CHANGES, _FOLLOWS, _REMOVED = 900, 1800, (5400, 9000)


class ChangedBell(History):
    """The worker sets the new bell from some time on, services from a later one; then the old one is gone.

    A process keeps the bell that it began with. `arms` tells whether the deployments arm the queue by the new
    bell, as they must.
    """

    def __init__(self, seed: int, faults: Faults, *, to: BellKind, arms: bool = True, **options: Any) -> None:
        super().__init__(seed, faults, relanes=False, **options)
        chance = Random(seed + 5)
        [self._left] = set(BellKind) - {to}
        self._taken, self._arms = to, arms
        self._changes = self.world.now + timedelta(seconds=chance.uniform(0, _CHANGES))
        self._follows = self._changes + timedelta(seconds=chance.uniform(0, _FOLLOWS))
        self._by_old: list[Process] = []
        self._lives = 0
        self.aws.bell = to
        self.world.at(self._changes, lambda: self._deploy(lambda _: None))
        removal = chance.uniform(*_REMOVED)
        self.world.after(removal, self._remove_if_unused)

    def _backend(self, process: Process) -> Backend:
        changed_at = self._follows if process.name.startswith("service") else self._changes
        kind = self._left if self.world.now < changed_at else self._taken
        if process.name.startswith("service") and kind is self._left:
            self._by_old.append(process)
        return backend_of(process, self.aws, replace(self.settings, bell=kind))

    def _remove_if_unused(self) -> None:
        """Have the old bell removed once no service sets it: a process that has not ended may."""
        if any(process.is_alive and not getattr(process, "has_ended", False) for process in self._by_old):
            self.world.after(600, self._remove_if_unused)
            return
        self._deploy(self._remove)

    def _remove(self, process: Process) -> None:
        self.aws.removed.add(self._left)
        if self._arms:
            self._backend(process).armer.verify()  # as every deployment does after the stack

    def _deploy(self, then: Callable[[Process], None]) -> None:
        """Arm by the new bell, in a process that is started again until it has come to its end."""
        self._lives += 1
        process = Process(self.world, f"deploy-{self._lives}")

        def main() -> None:
            try:
                if self._arms:
                    arm_by(self._backend(process))
                then(process)
            except (AwsError, NotArmed):
                process.kill()

        process.start(main, on_death=lambda: self.world.after(60, lambda: self._deploy(then)))

    def _use(self, process: Process, number: int, life: int) -> None:
        super()._use(process, number, life)
        process.has_ended = True  # type: ignore[attr-defined]
