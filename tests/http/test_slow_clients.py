"""A client that is slow to send or to read sees this, second by second: see `slow_clients.txt`."""

import asyncio
import re
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from uvicorn import Config
from uvicorn.server import ServerState

from duebell_editor.http.limits import BodyLimits, Deadlines
from tests import transcript


async def read(request: Request) -> PlainTextResponse:
    return PlainTextResponse(f"{len(await request.body())} bytes")


class AnswersFirst:
    """Begins its answer, and then reads the body."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"begun", "more_body": True})
        got = await receive()
        while got.get("more_body"):
            got = await receive()
        await send({"type": "http.response.body", "body": got["type"].encode()})


class Wire(asyncio.Transport):
    """A connection without a network, to a server whose clock is moved. It tells what the client sees."""

    def __init__(self) -> None:
        super().__init__()
        self.now, self._since, self.told, self._is_closing = 0.0, 0.0, "", False
        self.loop = asyncio.SelectorEventLoop()
        vars(self.loop)["time"] = lambda: self.now
        routes = [Route("/", read, methods=["POST"]), Route("/first", AnswersFirst())]
        app = Starlette(routes=routes, middleware=[Middleware(BodyLimits)])
        self._config, self._state = Config(app, http=Deadlines, lifespan="off"), ServerState()
        self._protocol: Any = None

    def write(self, data: Any) -> None:
        if data:
            told = bytes(data).decode().replace("\r\n", "⏎")
            self._tell(re.sub(r"^(HTTP/1.1 \d+) [^⏎]*", r"\1", told))  # Python has other words for some

    def close(self) -> None:
        self._is_closing = True
        self._tell("closed")

    def abort(self) -> None:
        self._is_closing = True
        self._tell("aborted")

    def is_closing(self) -> bool:
        return self._is_closing

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def _tell(self, what: str) -> None:
        self.told += f"{self.now - self._since:g} s: {what}\n"

    def ask(self, line: str) -> str:
        """Do what the line says to the connection, and tell what happens to the client."""
        self.told = ""
        what, _, given = line.partition(" ")
        if what == "CONNECT":
            self._is_closing, self._since = False, self.now
            self._state.connections.clear()
            self._state.connections.update(object() for _ in range(int(given or 0)))  # type: ignore[misc]
            self._protocol = Deadlines(self._config, self._state, {}, _loop=self.loop)
            self._protocol.connection_made(self)
        elif what == "SEND":
            self._protocol.data_received(given.replace("⏎", "\r\n").encode())
        elif what == "LONG":
            self._protocol.data_received(b"x" * int(given))
        elif what in {"pause_writing", "resume_writing"}:
            getattr(self._protocol, what)()
        elif what == "LOST":
            self._protocol.connection_lost(None)
        for _ in range(int(float(given) * 2) if what == "WAIT" else 1):
            self.now += 0.5 * (what == "WAIT")
            self.loop.run_until_complete(self._settle())
        return self.told

    async def _settle(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)


def test_what_slow_clients_see_is_as_kept() -> None:
    wire = Wire()
    transcript.check(Path(__file__).with_name("slow_clients.txt"), transcript.stage(), wire.ask)
    wire.loop.close()
