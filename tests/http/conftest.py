"""Fixtures for the HTTP editor's tests."""

import pytest
from fastapi.testclient import TestClient

from duebell import Editor
from duebell_editor.http import create_app


@pytest.fixture
def client(editor: Editor) -> TestClient:
    """Asks an HTTP editor over `editor`, as a browser on this machine does."""
    return TestClient(create_app(editor), base_url="http://127.0.0.1:8125")
