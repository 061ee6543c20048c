"""The workload, in scenes of simulated time: the same for each design, so that a fault has a name.

A scene is a list of steps: at a moment, a service adds, moves or cancels a task, or somebody deploys anew. In
the scene `race`, several services are at it at the same moment.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random

import msgspec

from alternatives.design import Design, Task

from .outcome import Expected

__all__ = ["SCENES", "Scene", "Step"]

_MINUTE, _HOUR, _DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """`what` is called with the design at that moment; `id`: the task that it adds, if it adds one."""

    at: datetime
    what: Callable[[Design], None]
    id: str = ""


class Scene(msgspec.Struct, kw_only=True):
    """Steps, what is expected of them, and after how many actions the executor dies, if it does."""

    steps: list[Step] = msgspec.field(default_factory=list)
    expected: list[Expected] = msgspec.field(default_factory=list)
    dies_after: int | None = None

    def add(self, task: Task, at: datetime, *, times: int = 1, fails: bool = False) -> None:
        """Have a service add this task at that moment."""
        self.steps.append(Step(at=at, what=lambda design: design.add(task), id=task.id))
        recurs, retried = task.every is not None, bool(task.payload.get("fails"))
        self.expected.append(
            Expected(id=task.id, due=task.due, times=times, fails=fails, recurs=recurs, retried=retried)
        )


def _seconds(begin: datetime) -> Scene:
    """Five hundred tasks at random seconds of a day, each added from ten minutes to six hours ahead."""
    random, scene = Random(1), Scene()
    for number in range(500):
        due = begin + 6 * _HOUR + random.random() * _DAY
        ahead = timedelta(seconds=random.uniform(600, 6 * 3600))
        scene.add(Task(id=f"task-{number}", due=due), due - ahead)
    return scene


def _burst(begin: datetime) -> Scene:
    """Four hundred tasks due at one whole minute, added in the hours before."""
    scene = Scene()
    for number in range(400):
        scene.add(Task(id=f"task-{number}", due=begin + 6 * _HOUR), begin + number * timedelta(seconds=30))
    return scene


def _edits(begin: datetime) -> Scene:
    """Sixty tasks on whole minutes: 20 are moved two hours later, 20 an hour earlier, 20 are cancelled."""
    scene = Scene()
    for number in range(60):
        due = begin + 6 * _HOUR + number * 10 * _MINUTE
        task = Task(id=f"task-{number}", due=due)
        scene.add(task, begin + number * _MINUTE)
        at, expected = begin + 2 * _HOUR + number * _MINUTE, scene.expected[-1]
        by = (2 * _HOUR, -_HOUR, None)[number % 3]
        if by is None:
            expected.due = None
            scene.steps.append(Step(at=at, what=_cancel(task.id)))
        else:
            expected.due = due + by
            moved = msgspec.structs.replace(task, due=due + by)
            scene.steps.append(Step(at=at, what=_move(moved)))
    return scene


def _recurring(begin: datetime) -> Scene:
    """Three tasks that recur every hour, for a day."""
    scene = Scene()
    for number in range(3):
        task = Task(id=f"task-{number}", due=begin + _HOUR + number * 7 * _MINUTE, every=_HOUR)
        scene.add(task, begin, times=24)
    return scene


def _failing(begin: datetime) -> Scene:
    """Thirty tasks, twenty minutes apart, added half an hour ahead: the tenth fails always, some once."""
    scene = Scene()
    for number in range(30):
        fails = {10: -1, 3: 1, 17: 1, 24: 1}.get(number, 0)
        due = begin + _HOUR + number * 20 * _MINUTE
        task = Task(id=f"task-{number}", due=due, payload={"fails": fails})
        scene.add(task, due - 15 * _MINUTE, fails=fails < 0)
    return scene


def _crash(begin: datetime) -> Scene:
    """Twenty tasks of one minute, whose executor dies after the fifth action; then one an hour."""
    scene = Scene(dies_after=5)
    for number in range(20):
        scene.add(Task(id=f"task-{number}", due=begin + 2 * _HOUR), begin + number * _MINUTE)
    for number in range(20, 25):
        due = begin + (number - 16) * _HOUR
        scene.add(Task(id=f"task-{number}", due=due), due - _HOUR / 2)
    return scene


def _redeploy(begin: datetime) -> Scene:
    """Twenty-four tasks, an hour apart, all added at first; after twelve hours somebody deploys anew."""
    scene = Scene()
    for number in range(24):
        due = begin + _HOUR * (number + 1)
        scene.add(Task(id=f"task-{number}", due=due), begin + number * timedelta(seconds=10))
    scene.steps.append(Step(at=begin + 12.5 * _HOUR, what=lambda design: design.deploy()))
    return scene


def _race(begin: datetime) -> Scene:
    """Sixty times, services add at the same moment, and one while five tasks are run."""
    random, scene = Random(2), Scene()
    for number in range(60):
        begins = begin + number * 30 * _MINUTE
        dues = {"near": 5, **{f"far-{one}": 9 for one in range(5)}}
        for name, minutes in dues.items():
            at = begins + timedelta(milliseconds=random.uniform(0, 40))
            scene.add(Task(id=f"{name}-{number}", due=begins + minutes * _MINUTE), at)
        while_they_run = begins + 9 * _MINUTE + timedelta(seconds=random.uniform(0, 50))
        scene.add(Task(id=f"while-{number}", due=begins + 15 * _MINUTE), while_they_run)
    return scene


#: The scenes by name: functions of the moment at which the scene begins, a noon.
SCENES: dict[str, Callable[[datetime], Scene]] = {
    "seconds": _seconds,
    "burst": _burst,
    "edits": _edits,
    "recurring": _recurring,
    "failing": _failing,
    "crash": _crash,
    "redeploy": _redeploy,
    "race": _race,
}


def _cancel(id: str) -> Callable[[Design], None]:
    return lambda design: design.cancel(id)


def _move(task: Task) -> Callable[[Design], None]:
    return lambda design: design.move(task)
