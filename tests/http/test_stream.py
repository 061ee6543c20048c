"""The events of the stream of changes, look by look, while the queue changes: see `stream.txt`."""

import asyncio
import shlex
import threading
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs

import pytest

from duebell import AwsUnavailable, Editor
from duebell_editor.http.requests import Following
from duebell_editor.http.routes import changes
from tests import transcript


@pytest.mark.filterwarnings("ignore::duebell.UnknownAction")
def test_events_of_streams_are_as_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    stage, streams = transcript.stage(), {}
    began = stage.now
    store: Any = stage.editor._backend.store
    state = SimpleNamespace(ending=threading.Event())
    request: Any = SimpleNamespace(app=SimpleNamespace(state=state))

    def monotonic() -> float:
        return 1000 + (stage.now - began).total_seconds()

    async def sleep(seconds: float) -> None:
        stage.work(timedelta(seconds=seconds))

    state.readings = changes.SharedReadings(monotonic)
    monkeypatch.setattr(changes, "time", SimpleNamespace(monotonic=monotonic))
    monkeypatch.setattr(changes, "utc_now", lambda: stage.now)
    monkeypatch.setattr(changes.asyncio, "sleep", sleep)

    async def look(stream: AsyncIterator[Any]) -> str:
        told = ""
        async for event in stream:
            told += event
            if event.startswith(":"):
                break
        return f"at {monotonic() - 1000:g} s\n{told}"

    async def open_stream(query: str) -> AsyncIterator[Any]:
        following = Following.model_validate(
            {name: given if name == "id" else given[0] for name, given in parse_qs(query).items()}
        )
        response = await changes.stream_changes(following, request, stage.editor)
        return response.body_iterator

    def ask(line: str) -> str:
        match shlex.split(line):
            case ["STREAM", name, *query]:
                streams[name] = loop.run_until_complete(open_stream("".join(query)))
            case ["LOOK", name]:
                return transcript.masked(loop.run_until_complete(look(streams[name])))
            case ["AWAY"]:
                refuse: Any = lambda *_, **__: (_ for _ in ()).throw(AwsUnavailable("AWS is away"))  # noqa: E731
                monkeypatch.setattr(store, "read_record", refuse)
            case ["BACK"]:
                monkeypatch.delattr(store, "read_record")
            case ["LEASE"]:
                record = store.read_record()
                until = stage.now + timedelta(minutes=1)
                assert store.swap_record(record, record.claimed("run", now=stage.now, until=until))
            case ["END"]:
                state.ending.set()
            case ["add", action, seconds, *ids]:
                id = ids[0] if ids else action
                stage.editor.add(action, due=timedelta(seconds=int(seconds)), id=id, if_exists="replace")
            case [verb, id, *due]:
                do: Any = getattr(Editor, verb)
                do(stage.editor, id, **{"due": timedelta(seconds=int(one)) for one in due})
        return ""

    loop = asyncio.new_event_loop()
    try:
        transcript.check(Path(__file__).with_name("stream.txt"), stage, ask)
    finally:
        loop.close()
