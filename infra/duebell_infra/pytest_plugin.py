"""The fixtures `duebell` and `duebell_stack` for pytest, which finds them where duebell is installed.

Every run of pytest there loads this module. So nothing of duebell is imported before a test asks for it.
"""

import os
import time
from contextlib import ExitStack
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from duebell_shared.tasks.task import Task
    from duebell_worker.worker import Worker

    from .local.stack import EmbeddedStack
    from .testing import Rehearsal

_WAY_OUT = (
    "say where your Worker is: `duebell_worker = myservice.actions:worker` in pytest's settings, "
    "DUEBELL_WORKER in the environment, or a fixture `duebell_worker` of your own that returns it"
)


#: A rule rings at the latest two minutes after a task is added; machines can be busy.
_PATIENCE = timedelta(minutes=4)
_PAUSE = 0.1


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the setting `duebell_worker`."""
    parser.addini("duebell_worker", "duebell: your Worker, as module:attribute", default="")


class LiveStack:
    """The whole stack on this machine for tests: its rule really rings, its worker is the real bundle.

    editor       an editor of its queue
    environment  the variables with which other processes, such as the service under test, reach it
    """

    def __init__(self, stack: "EmbeddedStack") -> None:
        from duebell_editor.library.editor import Editor  # noqa: PLC0415

        from .local.worker_log import WorkerLog  # noqa: PLC0415

        self.editor = Editor(stack.settings, session=stack.session)
        self.environment = stack.environment
        self._log = WorkerLog(stack.worker_log)

    def ended(self, id: str, *, within: timedelta = _PATIENCE) -> "Task":
        """Wait until this task has ended, and return it. Raises TimeoutError, and TaskNotFound.

        A task that is due at once starts within seconds. Other tasks start when the rule rings: within two
        minutes after their due date.
        """
        give_up = time.monotonic() + within.total_seconds()
        while not (task := self.editor.get(id)).status.is_finished:
            if time.monotonic() > give_up:
                raise TimeoutError(f"the task {id!r} is {task.status} after {within}, due {task.due}")
            time.sleep(_PAUSE)
        return task

    def log_lines(self) -> list[str]:
        """The lines of the worker and of its actions since the last call."""
        return list(self._log.new_lines())


@pytest.fixture
def duebell_worker(pytestconfig: pytest.Config) -> "Worker":
    """Your worker, by the setting `duebell_worker` or DUEBELL_WORKER. You can override this fixture."""
    from duebell_shared.errors import InvalidSettings  # noqa: PLC0415
    from duebell_worker.entry import load  # noqa: PLC0415

    try:
        return load(_worker_name(pytestconfig))
    except InvalidSettings as error:
        raise pytest.UsageError(f"{error.reason}; {_WAY_OUT}") from None


@pytest.fixture
def duebell(duebell_worker: "Worker") -> "Iterator[Rehearsal]":
    """A scheduler of this test's own, in memory: `duebell.editor`, `duebell.let_time_pass(timedelta(…))`."""
    from .testing import Rehearsal  # noqa: PLC0415

    with Rehearsal(duebell_worker) as rehearsal:
        yield rehearsal


@pytest.fixture(scope="session")
def _duebell_stack(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> "Iterator[LiveStack]":
    """One stack for all tests of this process: it takes some seconds to start."""
    from .errors import InfraError  # noqa: PLC0415
    from .local.stack import EmbeddedStack  # noqa: PLC0415

    folder, worker = tmp_path_factory.mktemp("duebell"), _worker_name(pytestconfig)
    with ExitStack() as exit:
        try:
            stack = exit.enter_context(EmbeddedStack(folder, actions=worker, folder=pytestconfig.rootpath))
        except InfraError as error:
            raise pytest.UsageError(f"duebell_stack: {error}") from None
        yield LiveStack(stack)


@pytest.fixture
def duebell_stack(_duebell_stack: "LiveStack") -> "Iterator[LiveStack]":
    """The whole stack on this machine, shared by all tests: `duebell_stack.editor`, `.ended(id)`.

    What the worker logs is printed, so that pytest shows it with a test that fails.
    """
    _duebell_stack.log_lines()
    yield _duebell_stack
    for line in _duebell_stack.log_lines():
        print(line)  # noqa: T201


def _worker_name(config: pytest.Config) -> str:
    """The worker as `module:attribute`. Raises UsageError if none is named."""
    name: str = config.getini("duebell_worker") or os.environ.get("DUEBELL_WORKER", "")
    if not name:
        raise pytest.UsageError(_WAY_OUT)
    return name
