"""Many who follow the same thing cost one reader of the queue."""

import asyncio
import urllib.request
from contextlib import ExitStack
from unittest import mock

import msgspec
import pytest

from duebell import AwsUnavailable, Editor
from duebell_editor.http.routes import changes
from duebell_editor.http.routes.changes import SharedReadings
from tests.page.scene import Scene
from tests.serving import serving


def test_concurrent_readers_share_one_reading() -> None:
    reads: list[int] = []
    now = 100.0

    def read() -> int:
        reads.append(1)
        return len(reads)

    async def act() -> None:
        nonlocal now
        readings = SharedReadings(lambda: now)
        many = [readings.get("a", read, max_age=6) for _ in range(20)]
        assert set(await asyncio.gather(*many)) == {(1, 100.0)}
        # Until it is too old for somebody, it is what everybody gets
        now += 5.9
        assert await readings.get("a", read, max_age=6) == (1, 100.0)
        now += 0.1
        assert await readings.get("a", read, max_age=6) == (2, 106.0)
        assert await readings.get("a", read, max_age=30) == (2, 106.0)
        # Nor are many kept
        for number in range(200):
            await readings.get(number, read, max_age=6)
        assert len(readings._readings) <= 100

    asyncio.run(act())


def test_a_slow_reading_or_its_error_is_for_all_who_wait() -> None:
    now = 100.0
    away = AwsUnavailable("away")

    def read() -> float:
        nonlocal now
        now += 10  # longer than what was read is good for
        return now

    async def act() -> None:
        readings = SharedReadings(lambda: now)
        many = [readings.get("a", read, max_age=6) for _ in range(20)]
        assert set(await asyncio.gather(*many)) == {(110.0, 100.0)}
        assert await readings.get("a", read, max_age=6) == (120.0, 110.0)
        failing = mock.Mock(side_effect=away)
        failed = [readings.get("b", failing, max_age=6) for _ in range(3)]
        assert await asyncio.gather(*failed, return_exceptions=True) == [away] * 3
        assert failing.call_count == 1

    asyncio.run(act())


def test_viewers_of_the_same_thing_cost_one_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given a server that looks at the queue at first, and then for a long time not
    for name in ("_BUSY", "_QUIET"):
        monkeypatch.setattr(changes, name, 1000.0)
    scene = Scene()
    scene.furnish()
    store = scene.store
    reads = [mock.Mock(wraps=store.read_record), mock.Mock(wraps=store.get)]
    monkeypatch.setattr(store, "read_record", reads[0])
    monkeypatch.setattr(store, "get", reads[1])

    with serving(scene.editor) as url, ExitStack() as streams:
        costs = []
        for which in ("?id=sale-50",) * 10 + ("?id=sale-51",) + ("?after=2020-01-01T00:00:00Z",) * 3:
            reads_before, keys_before = sum(one.call_count for one in reads), store.keys_read
            stream = streams.enter_context(urllib.request.urlopen(f"{url}api/changes{which}", timeout=30))
            while stream.readline() != b": still here\n":
                pass
            done = sum(one.call_count for one in reads) - reads_before
            costs.append((done, store.keys_read > keys_before))
    # Then the first costs a look, and the others nothing
    assert costs[0][0] > 0
    assert costs[0][1]
    assert costs[1:10] == [(0, False)] * 9
    # But for a task that nobody has looked at yet
    assert costs[10] == (1, False)
    # And who looks from a moment that has passed looks at the same
    assert costs[11:] == [(0, False)] * 3


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    """A queue whose server looks at it twenty times a second."""
    for name in ("_BUSY", "_QUIET", "_STEP"):
        monkeypatch.setattr(changes, name, 0.05)
    scene = Scene()
    scene.furnish()
    return scene


def test_a_status_that_was_read_before_the_stream_began_is_read_again(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in {"_BUSY": 0.3, "_QUIET": 0.3, "_STATUS_EVERY": 1000.0}.items():
        monkeypatch.setattr(changes, name, seconds)
    read = scene.editor.status()
    with serving(scene.editor) as url, ExitStack() as streams:
        for failed, looks in ((read.failed, 1), (77, 2)):
            # When the status changes soon after another stream has read it
            monkeypatch.setattr(
                Editor, "status", lambda *_, failed=failed, **__: msgspec.structs.replace(read, failed=failed)
            )
            stream = streams.enter_context(urllib.request.urlopen(f"{url}api/changes", timeout=10))
            # Then the next stream tells the new one, at the second look at the latest
            told = b""
            while told.count(b": still here") < looks:
                told += stream.readline()
            assert f'"failed":{failed},' in told.decode().replace('": ', '":')
