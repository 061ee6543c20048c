"""Fixtures for the HTTP editor's tests: it stands on a queue in memory."""

from datetime import timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient

from duebell import Editor
from duebell_editor.http import create_app
from duebell_shared.backend import Backend
from duebell_shared.instants import render
from tests.editor.memory import Scheduler
from tests.support import NOON

TOMORROW = render(NOON + timedelta(days=1))


def add(client: TestClient, **fields: Any) -> Any:
    response = client.post("/api/tasks", json={"action": "put_on_sale", "due": TOMORROW, **fields})
    assert response.status_code == 201, response.text
    return response.json()


@pytest.fixture
def scheduler() -> Scheduler:
    return Scheduler.start()


@pytest.fixture
def backend(scheduler: Scheduler) -> Backend:
    return scheduler.backend


@pytest.fixture
def editor(scheduler: Scheduler) -> Editor:
    return scheduler.editor


@pytest.fixture
def client(editor: Editor) -> TestClient:
    """Asks an HTTP editor over `editor`, as a browser on this machine does."""
    return TestClient(create_app(editor), base_url="http://127.0.0.1:8125")
