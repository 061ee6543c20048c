"""Fixtures for the HTTP editor's tests: it stands on a queue in memory."""

import pytest
from fastapi.testclient import TestClient

from duebell import Editor
from duebell_editor.http import create_app
from duebell_shared.backend import Backend
from tests.editor.memory import Scheduler


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
