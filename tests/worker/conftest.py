"""Fixtures for the worker's tests: a worker that runs one action after the other, and one with threads."""

import logging
from collections.abc import Iterator

import pytest

from duebell import Worker
from duebell_infra.testing import InlinePool
from duebell_shared.backend import Backend
from duebell_shared.log_lines import JsonLines
from tests.deliveries.endpoint import endpoint
from tests.support import Clock
from tests.worker.called import Called
from tests.worker.hooks import Hooks
from tests.worker.hosted import Hosted
from tests.worker.log_lines import Log
from tests.worker.scene import Scene
from tests.worker.stage import Stage
from tests.worker.starting import deploy

__all__ = ["deploy", "endpoint"]


@pytest.fixture
def worker(backend: Backend) -> Worker:
    """A worker that runs each action at once and to its end, so that nothing is left to chance."""
    return Worker(backend=backend, pool=lambda _: InlinePool())


@pytest.fixture
def threaded(backend: Backend) -> Worker:
    """A worker with the threads that it has in Lambda."""
    return Worker(backend=backend)


@pytest.fixture
def stage(clock: Clock) -> Iterator[Stage]:
    """Lets actions of the `staged` worker take time; the clock stands still otherwise."""
    stage = Stage(clock)
    yield stage
    stage.wake_all()


@pytest.fixture
def staged(backend: Backend, stage: Stage) -> Worker:
    """A worker whose actions may take time: `stage.sleep(70)`."""
    return Worker(backend=backend, pool=stage)


@pytest.fixture
def aws(backend: Backend) -> Hooks:
    """A hand in the calls that `backend` makes, and so the worker and the editor."""
    return Hooks(backend)


@pytest.fixture
def log() -> Iterator[Log]:
    """The worker's output, as Lambda sees it."""
    log = Log()
    handler = logging.StreamHandler(log.stream)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger("duebell.worker")
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    yield log
    logger.removeHandler(handler)
    logger.setLevel(level)


@pytest.fixture
def hosted(clock: Clock, stage: Stage, log: Log) -> Hosted:
    """A long-running process."""
    return Hosted(clock, stage, log)


@pytest.fixture
def scene(clock: Clock) -> Scene:
    """A worker over a queue in memory."""
    return Scene(clock)


@pytest.fixture
def called() -> Called:
    """The function that starts runs directly."""
    return Called()
