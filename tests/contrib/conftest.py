"""Fixtures for the tests of frameworks."""

from collections.abc import Iterator

import pytest

from duebell import Backoff, Worker
from duebell.testing import Rehearsal


@pytest.fixture
def rehearsal() -> Iterator[Rehearsal]:
    """A scheduler whose worker runs the tasks of the Django app."""
    # Imported here: Django need not be installed, and then only the tests are skipped.
    from duebell.contrib.django import register_tasks  # noqa: PLC0415
    from tests.contrib.project import EDITOR, MINUTE  # noqa: PLC0415
    from tests.contrib.shop.tasks import CALLS  # noqa: PLC0415

    worker = Worker()
    register_tasks(worker, backoff=Backoff(first=10 * MINUTE))
    with Rehearsal(worker) as rehearsal:
        EDITOR.append(rehearsal.editor)
        CALLS.clear()
        yield rehearsal
        EDITOR.pop()
