"""A bounded number of requests at work and of streams; who is beyond is told when to come again."""

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from duebell import Editor
from duebell_editor.http import create_app
from duebell_editor.http.limits import RequestLimits
from duebell_editor.http.routes import changes
from tests.serving import serving


def asked(path: str, method: str = "GET") -> Scope:
    return {"type": "http", "method": method, "path": path, "headers": []}


async def nothing() -> Message:
    return {"type": "http.disconnect"}


async def answer(app: RequestLimits, scope: Scope) -> tuple[int, dict[bytes, bytes]]:
    """The status and headers of the answer; 0 when the application has got the request."""
    said: list[tuple[int, dict[bytes, bytes]]] = []

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            said.append((message["status"], dict(message["headers"])))

    await app(scope, nothing, send)
    return said[0] if said else (0, {})


def test_so_many_requests_are_at_work_and_no_more() -> None:
    async def act() -> None:
        # Given an application at work on as many as it may
        goes_on = asyncio.Event()

        async def work(_scope: Scope, _receive: Receive, _send: Send) -> None:
            await goes_on.wait()

        limits = RequestLimits(work, requests=3, streams=1)
        busy = [asyncio.create_task(answer(limits, asked("/api/tasks"))) for _ in range(3)]
        await asyncio.sleep(0)
        # When another comes, it is told to come again
        status, headers = await answer(limits, asked("/api/tasks", "POST"))
        assert (status, headers[b"retry-after"]) == (503, b"1")
        # And a stream has a place of its own
        stream = asyncio.create_task(answer(limits, asked("/api/changes")))
        await asyncio.sleep(0)
        assert (await answer(limits, asked("/api/changes")))[0] == 503
        # And when these are done there is room
        goes_on.set()
        await asyncio.gather(*busy, stream)
        assert (await answer(limits, asked("/api/tasks")))[0] == 0
        assert (await answer(limits, asked("/api/changes")))[0] == 0

    asyncio.run(act())


@pytest.mark.parametrize("ending", [RuntimeError, asyncio.CancelledError])
def test_a_request_that_ends_badly_gives_its_place_back(ending: type[BaseException]) -> None:
    async def act() -> None:
        async def fail(_scope: Scope, _receive: Receive, _send: Send) -> None:
            raise ending

        limits = RequestLimits(fail, requests=1, streams=1)
        for path in ("/api/tasks", "/api/changes") * 3:
            with pytest.raises(ending):
                await answer(limits, asked(path))

    asyncio.run(act())


def test_what_is_refused_is_a_problem_document(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RequestLimits.__init__, "__kwdefaults__", {"requests": 0, "streams": 0})
    client = TestClient(create_app(editor), base_url="http://127.0.0.1")
    for path in ("/api/tasks", "/api/changes", "/"):
        refused = client.get(path)
        assert (refused.status_code, refused.json()["type"]) == (503, "urn:duebell:busy")
        assert int(refused.headers["retry-after"]) > 0


def test_strangers_take_no_place(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RequestLimits.__init__, "__kwdefaults__", {"requests": 0, "streams": 0})
    client = TestClient(create_app(editor, token="x" * 16), base_url="http://127.0.0.1")
    assert client.get("/api/tasks").status_code == 401


@pytest.fixture
def url(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(RequestLimits.__init__, "__kwdefaults__", {"requests": 64, "streams": 2})
    for name in ("_QUIET", "_BUSY", "_STEP"):
        monkeypatch.setattr(changes, name, 0.05)
    with serving(editor) as url:
        yield url


def test_streams_are_so_many_and_one_that_is_left_makes_room(url: str) -> None:
    first = urllib.request.urlopen(f"{url}api/changes", timeout=30)
    second = urllib.request.urlopen(f"{url}api/changes", timeout=30)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{url}api/changes", timeout=30)
    with refused.value as answer:
        assert (answer.code, answer.headers["retry-after"]) == (503, "30")
        assert "follow what changes already" in json.load(answer)["detail"]
    # All else is answered
    with urllib.request.urlopen(f"{url}api/tasks", timeout=30) as other:
        assert other.status == 200
    # When one goes, another has its place
    first.close()
    for _ in range(1000):
        try:
            third = urllib.request.urlopen(f"{url}api/changes", timeout=30)
        except urllib.error.HTTPError as busy:
            busy.close()
            second.readline()  # what comes from time to time
            continue
        assert third.readline() == b"event: ready\n"
        third.close()
        break
    else:
        pytest.fail("the place was never given back")
    second.close()
