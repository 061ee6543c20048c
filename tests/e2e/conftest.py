"""The embedded stack that the end-to-end tests share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from duebell_editor import Editor
from duebell_infra.local import EmbeddedStack

ACTIONS = "actions_for_tests:worker"
HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStack]:
    """One stack for all tests, with the actions in actions_for_tests.py; tasks need ids of their own."""
    with EmbeddedStack(tmp_path_factory.mktemp("stack"), actions=ACTIONS, folder=HERE) as stack:
        yield stack


@pytest.fixture(scope="session")
def stack_editor(stack: EmbeddedStack) -> Editor:
    """An editor of the shared stack."""
    return Editor(stack.settings, session=stack.session)
