"""What only the end-to-end tests need; the stack itself is in the tests' own conftest."""

import pytest

from duebell_editor import Editor
from duebell_infra.local import EmbeddedStack


@pytest.fixture(scope="session")
def stack_editor(stack: EmbeddedStack) -> Editor:
    """An editor of the shared stack."""
    return Editor(stack.settings, session=stack.session)
