"""The HTTP editor on a port, in a thread of the test."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import uvicorn
from fastapi import FastAPI

from duebell import Editor
from duebell_editor.http import serve, server

__all__ = ["serving"]


@contextmanager
def serving(editor: Editor, host: str = "127.0.0.1", **given: Any) -> Iterator[str]:
    """The URL of the HTTP editor over this editor, on any free port, until the end of the block."""
    servers: list[uvicorn.Server] = []
    urls: list[str] = []
    ready = threading.Event()

    class Kept(server._Server):
        def __init__(self, config: uvicorn.Config, app: FastAPI) -> None:
            super().__init__(config, app)
            servers.append(self)
            ready.set()

    given = {"started": urls.append, **given}
    with patch.object(server, "_Server", Kept):
        thread = threading.Thread(target=serve, args=(editor, host, 0), kwargs=given, daemon=True)
        thread.start()
        assert ready.wait(timeout=30)
    try:
        yield urls[0]
    finally:
        servers[0].should_exit = True
        thread.join(timeout=30)
