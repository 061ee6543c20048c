"""The events of the stream of changes, look by look, while the queue changes: see `stream.txt`."""

import asyncio
import shlex
import threading
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock
from urllib.parse import parse_qs

import pytest

from duebell import AwsUnavailable
from duebell_editor.http.requests import Following
from duebell_editor.http.routes import changes
from tests import transcript


class Play:
    """A scheduler whose streams are read look by look: while a stream sleeps, the time here passes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.stage = transcript.stage()
        self._began = self.stage.now
        self._store: Any = self.stage.editor._backend.store
        reads = {name: mock.Mock(wraps=getattr(self._store, name)) for name in ("read_record", "get")}
        vars(self._store).update(reads)
        self._reads = list(reads.values())
        self._streams: dict[str, AsyncIterator[Any]] = {}
        away = mock.patch.object(self._store, "read_record", side_effect=AwsUnavailable("AWS is away"))
        state = SimpleNamespace(ending=threading.Event(), readings=changes.SharedReadings(self.monotonic))
        self._request: Any = SimpleNamespace(app=SimpleNamespace(state=state))
        self._do: dict[str, Callable[[], object]] = {
            "AWAY": away.start, "BACK": away.stop, "LEASE": self._lease, "END": state.ending.set,
        }  # fmt: skip
        monkeypatch.setattr(changes, "time", SimpleNamespace(monotonic=self.monotonic))
        monkeypatch.setattr(changes, "utc_now", lambda: self.stage.now)
        monkeypatch.setattr(asyncio, "sleep", self.sleep)

    def monotonic(self) -> float:
        return 1000 + (self.stage.now - self._began).total_seconds()

    async def sleep(self, seconds: float) -> None:
        self.stage.work(timedelta(seconds=seconds))

    async def ask(self, line: str) -> str:
        """Do what the line says, or tell the events of the next look of a stream."""
        what, name, one, another, *_ = (*shlex.split(line), "", "", "")
        if what == "LOOK":
            return await self._look(name)
        if what == "STREAM":
            fields = {field: given if field == "id" else given[0] for field, given in parse_qs(one).items()}
            stream = await changes.stream_changes(
                Following.model_validate(fields), self._request, self.stage.editor
            )
            self._streams[name] = stream.body_iterator  # type: ignore[assignment]
        elif what in self._do:
            self._do[what]()
        elif what == "add":
            due, id = timedelta(seconds=int(one)), another or name
            self.stage.editor.add(name, due=due, id=id, if_exists="replace")
        else:
            more = {"due": timedelta(seconds=int(one))} if one else {}
            getattr(self.stage.editor, what)(name, **more)
        return ""

    async def _look(self, name: str) -> str:
        told, before = "", [one.call_count for one in self._reads]
        async for event in self._streams[name]:
            told += event
            if event.startswith(":"):
                break
        reads = [one.call_count - many for one, many in zip(self._reads, before, strict=True)]
        return f"at {self.monotonic() - 1000:g} s, reads of the record and of tasks: {reads}\n{told}"

    def _lease(self) -> None:
        record = self._store.read_record()
        until = self.stage.now + timedelta(minutes=1)
        assert self._store.swap_record(record, record.claimed("run", now=self.stage.now, until=until))


@pytest.mark.filterwarnings("ignore::duebell.UnknownAction")
def test_events_of_streams_are_as_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    play = Play(monkeypatch)
    with asyncio.Runner() as runner:
        transcript.check(
            Path(__file__).with_name("stream.txt"), play.stage, lambda line: runner.run(play.ask(line))
        )
