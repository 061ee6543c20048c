"""The fixture `duebell` for pytest, which finds it by itself where duebell is installed.

Every run of pytest there loads this module. So nothing of duebell is imported before a test asks for it.
"""

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from duebell_infra.testing import Rehearsal
    from duebell_worker import Worker

__all__ = ["duebell", "duebell_worker", "pytest_addoption"]

_WAY_OUT = (
    "say where your Worker is: `duebell_worker = myservice.actions:worker` in pytest's settings, "
    "DUEBELL_WORKER in the environment, or a fixture `duebell_worker` of your own that returns it"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the setting `duebell_worker`."""
    parser.addini("duebell_worker", "duebell: your Worker, as module:attribute", default="")


@pytest.fixture
def duebell_worker(pytestconfig: pytest.Config) -> "Worker":
    """Your worker, by the setting `duebell_worker` or DUEBELL_WORKER. You can override this fixture."""
    from duebell_shared.errors import InvalidSettings  # noqa: PLC0415
    from duebell_worker.loader import load  # noqa: PLC0415

    name = pytestconfig.getini("duebell_worker") or os.environ.get("DUEBELL_WORKER", "")
    if not name:
        raise pytest.UsageError(_WAY_OUT)
    try:
        return load(name)
    except InvalidSettings as error:
        raise pytest.UsageError(f"{error.reason}; {_WAY_OUT}") from None


@pytest.fixture
def duebell(duebell_worker: "Worker") -> "Iterator[Rehearsal]":
    """A scheduler of this test's own, in memory: `duebell.editor`, `duebell.let_time_pass(timedelta(…))`."""
    from duebell_infra.testing import Rehearsal  # noqa: PLC0415

    with Rehearsal(duebell_worker) as rehearsal:
        yield rehearsal
