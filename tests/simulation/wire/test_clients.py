"""botocore's clients over the simulated network: they retry, wait and fail as they do over a real one."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest

from duebell_shared.errors import AwsUnavailable
from duebell_shared.queue.store import Store
from duebell_shared.settings import Settings
from duebell_shared.tasks.new_task import new_task
from duebell_shared.tasks.task import Task
from tests.simulation.aws import Aws
from tests.simulation.weather import Faults
from tests.simulation.wire.clients import backend_over
from tests.simulation.wire.network import Network
from tests.simulation.world import Process, World
from tests.support import NOON

TASK = new_task(id="one", action="act", due=NOON, payload=None, now=NOON)


class Scene:
    """A world with processes that each do one thing; the tries of their calls go wrong as is told."""

    def __init__(self, *, in_full: bool) -> None:
        self.world = World(1)
        self.aws = Aws(self.world, Faults(), lambda *_: None)
        self.network = Network(self.aws, Settings())
        self._in_full = in_full

    def goes_wrong(self, faults: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> None:
        """The next tries, one after the other; those after them do not."""
        left = list(faults)
        monkeypatch.setattr(self.network, "_draw", lambda *_: left.pop(0) if left else "")

    def does(self, what: Callable[[Store], object], process: Process | None = None) -> Any:
        """What this returns or raises, done by a process with a store of its own."""
        process = process or Process(self.world, "process")
        store = backend_over(self.network, process, Settings(), in_full=self._in_full).store
        came: list[object] = []

        def do() -> None:
            try:
                came.append(what(store))
            except AwsUnavailable as error:
                came.append(error)

        process.start(do)
        self.world.run_until(self.world.now + timedelta(hours=1))
        return came[0] if came else None

    def tries(self, operation: str) -> int:
        return sum(f": {operation} " in line for line in self.aws.trace)


@pytest.fixture(params=[False, True], ids=["", "in full"])
def scene(request: pytest.FixtureRequest) -> Scene:
    return Scene(in_full=request.param)


def insert(store: Store) -> bool:
    return store.insert(TASK)


def stored(scene: Scene) -> list[Task]:
    return list(scene.network.tasks.values())


@pytest.mark.parametrize("fault", ["refuse", "time_out"])
def test_the_sdk_tries_again_and_waits_in_simulated_time(
    scene: Scene, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.goes_wrong([fault] * 3, monkeypatch)
    ended: list[Any] = []

    def insert_and_look(store: Store) -> bool:
        inserted = insert(store)
        ended.append(scene.world.now)
        return inserted

    assert scene.does(insert_and_look) is True
    assert scene.tries("PutItem") == 4
    assert ended[0] > NOON
    assert stored(scene) == [TASK]


def test_what_is_never_answered_is_unavailable_after_as_many_tries_as_the_client_is_told(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(10):  # whatever kind of silence it is
        scene.aws.trace.clear()
        scene.goes_wrong(["time_out"] * 4, monkeypatch)
        assert isinstance(scene.does(lambda store: store.head(0)), AwsUnavailable)
        assert scene.tries("Query") == 4


def test_what_is_refused_again_and_again_has_no_effect(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.goes_wrong(["refuse"] * 4, monkeypatch)
    assert isinstance(scene.does(insert), AwsUnavailable)
    assert not stored(scene)


def test_a_try_that_is_not_answered_takes_effect_now_later_or_never(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given an insert of which no try is answered, in many worlds
    seen = set()
    for seed in range(30):
        world = Scene(in_full=False)
        world.world.random.seed(seed)
        world.goes_wrong(["time_out"] * 4, monkeypatch)
        at_the_end: list[bool] = []
        process = Process(world.world, "process")

        def look(store: Store, world: Scene = world, seen: list[bool] = at_the_end) -> None:
            try:
                insert(store)
            except AwsUnavailable:
                seen.append(bool(stored(world)))

        world.does(look, process)
        seen.add((at_the_end[0], bool(stored(world))))
    # Then some are stored when the process knows, some after it, some never are
    assert seen == {(True, True), (False, True), (False, False)}


def test_a_process_has_a_retry_quota_of_its_own(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    # Given a process whose calls have failed until the SDK does not retry them any more
    def fail_often(store: Store) -> int:
        for _ in range(60):
            with pytest.raises(AwsUnavailable):
                store.head(0)
        scene.aws.trace.clear()
        with pytest.raises(AwsUnavailable):
            store.head(0)
        return scene.tries("Query")

    scene.goes_wrong(["time_out"] * 1000, monkeypatch)
    assert scene.does(fail_often) == 1
    # Then another process's are retried
    scene.aws.trace.clear()
    assert isinstance(scene.does(lambda store: store.head(0)), AwsUnavailable)
    assert scene.tries("Query") == 4


def test_a_process_that_dies_in_a_call_does_not_go_on(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.goes_wrong(["crash"], monkeypatch)
    process = Process(scene.world, "process")
    assert scene.does(insert, process) is None
    assert not process.is_alive
