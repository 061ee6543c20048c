"""Someone who gives the queue of a history more lanes, again and again until that has come to its end."""

from collections.abc import Callable
from datetime import datetime
from random import Random

from duebell import AwsError, NotArmed, TaskConflict
from duebell_editor.library.relane import relane
from duebell_shared.backend import Backend
from duebell_shared.queue.places import lane_of

from .world import Process, World

__all__ = ["Relaner"]

#: Seconds in which tasks are added, and so when lanes are.
_BUSY = 2400

#: How often a relaner that died or gave up is started again, at most.
_LIVES = 12


class Relaner:
    """Gives a queue twice its lanes at some time."""

    def __init__(self, seed: int, world: World, connect: Callable[[Process], Backend], lanes: int) -> None:
        """Its times are chances of its own, so that histories without one stay as they were."""
        self.lanes = lanes
        self.is_done = False
        # When one ended or died last: until then, and for its lease, runs start nothing
        self.last_at: datetime | None = None
        self._random = Random(seed + 3)
        self._world = world
        self._connect = connect

    def start(self) -> None:
        """Have it come at some time, with each process that it takes."""
        self._world.after(self._random.uniform(0, _BUSY), lambda: self._live(1))

    def _live(self, life: int) -> None:
        process = Process(self._world, f"relaner-{life}", skew=0)

        def again() -> None:
            self.last_at = self._world.now
            if life < _LIVES:
                self._world.after(self._random.uniform(1, 200), lambda: self._live(life + 1))

        def main() -> None:
            try:
                relane(self._connect(process), self.lanes)
            except (AwsError, NotArmed, TaskConflict):
                process.kill()
            else:
                self.is_done = True
                self.last_at = self._world.now

        process.start(main, on_death=again)

    def problems(self, places: list[tuple[int, str]], counts: tuple[int, ...]) -> list[str]:
        """What is wrong with where tasks are: each must be in one place, and be looked for there."""
        ids = [id for _, id in places]
        return [
            *(f"{id} is there twice" for id in sorted({id for id in ids if ids.count(id) > 1})),
            *(
                f"{id} in lane {lane} is found by none of {counts}"
                for lane, id in places
                if lane not in {lane_of(id, count) for count in counts}
            ),
        ]
