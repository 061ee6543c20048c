"""Fixtures for the end-to-end tests alone; the stack itself is in tests/conftest.py."""

from collections.abc import Iterator

import pytest

from duebell import Editor
from duebell_infra.local.stack import EmbeddedStack
from tests.e2e.deployer import Deployer


def pytest_itemcollected(item: pytest.Item) -> None:
    """Some of these tests want tasks that the stack's worker cannot run, and say so by their names."""
    item.add_marker(pytest.mark.filterwarnings("ignore::duebell.UnknownAction"))


@pytest.fixture(scope="session")
def stack_editor(stack: EmbeddedStack) -> Editor:
    """An editor of the shared stack."""
    return Editor(stack.settings, session=stack.session)


@pytest.fixture
def deployer(stack: EmbeddedStack, request: pytest.FixtureRequest) -> Iterator[Deployer]:
    """A stack of the test's own, named after it, beside the shared one; all of it is gone afterwards."""
    name = request.function.__name__.removeprefix("test_").replace("_", "-")[:30].rstrip("-")
    deployer = Deployer(stack, name)
    yield deployer
    deployer.destroy(delete_table=True)
