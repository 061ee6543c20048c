"""Fixtures for all tests: a scheduler on moto whose clock stands still."""

import logging
import os
import zoneinfo
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import boto3
import hypothesis
import pytest

from duebell import Editor
from duebell_infra.local.stack import EmbeddedStack
from duebell_shared.backend import Backend
from duebell_shared.settings import Settings
from tests.e2e.support import ACTIONS, HERE
from tests.quick_aws import client, moto_aws, quick_aws
from tests.simulation.wire.dynamodb import DynamoDb
from tests.support import REGION, Calls, Clock, create_rule, create_table

# Machines that run tests are shared: that one is slow says nothing about the code. CI plays the same examples
# each time, so that it says something about the commit.
hypothesis.settings.register_profile(
    "shared",
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    deadline=None,
    derandomize="CI" in os.environ,
)
hypothesis.settings.load_profile("shared")

#: Variables that tell the tests themselves what to do.
_OF_TESTS = ("DUEBELL_BROWSER", "DUEBELL_NODE_MODULES", "DUEBELL_TERRAFORM_PLUGINS")

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spread the end-to-end tests evenly among the others: they wait most of their time, one process each."""
    e2e = [item for item in items if "e2e" in item.keywords]
    others = [item for item in items if "e2e" not in item.keywords]
    for number, item in enumerate(e2e):
        others.insert(number * len(items) // len(e2e), item)
    items[:] = others
    # A browser and an emulator wait for a machine that may be busy with other things: what fails there is
    # played once more, and the closing line says so.
    for item in items:
        if "e2e" in item.keywords or item.nodeid.startswith("tests/page/"):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees this machine's AWS settings, nor can reach a real account."""
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    for name in [name for name in os.environ if name.startswith("DUEBELL_") and name not in _OF_TESTS]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_REGION", REGION)
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStack]:
    """One embedded stack for all end-to-end tests, with tests/e2e/actions_for_tests.py.

    It is shared, so tasks need ids of their own.
    """
    with EmbeddedStack(tmp_path_factory.mktemp("stack"), actions=ACTIONS, folder=HERE) as stack:
        yield stack


@pytest.fixture
def false_zones(tmp_path: Path) -> Iterator[Path]:
    """A machine with false time zones, in this folder: there, clocks in Berlin show Tokyo's time."""
    tokyo = resources.files("tzdata").joinpath("zoneinfo", "Asia", "Tokyo").read_bytes()
    (tmp_path / "Europe").mkdir()
    (tmp_path / "Europe" / "Berlin").write_bytes(tokyo)
    zoneinfo.reset_tzpath([tmp_path])
    zoneinfo.ZoneInfo.clear_cache()
    yield tmp_path
    zoneinfo.reset_tzpath()
    zoneinfo.ZoneInfo.clear_cache()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tables() -> Iterator[Mapping[str, DynamoDb]]:
    """DynamoDB's tables behind `session`, by their names, unless the test is on moto."""
    with quick_aws() as tables:
        yield tables


@pytest.fixture
def session(request: pytest.FixtureRequest) -> Iterator[boto3.Session]:
    """A session on AWS in memory, with the table and the rule as the stack creates them."""
    is_on_moto = request.node.get_closest_marker("moto")
    with moto_aws() if is_on_moto else nullcontext(request.getfixturevalue("tables")):
        prepares: Any = SimpleNamespace(client=client)
        create_table(prepares)
        create_rule(prepares)
        yield boto3.Session(region_name=REGION)


@pytest.fixture
def calls(session: boto3.Session) -> Calls:
    """The AWS calls made through `session`, counted from the moment a client of ours makes them."""
    calls = Calls()
    calls.watch(session)
    return calls


@pytest.fixture
def events(session: boto3.Session) -> "EventBridgeClient":
    """EventBridge, for tests to look at the rule behind duebell's back; its calls are not counted."""
    return boto3.client("events", region_name=REGION)


@pytest.fixture
def backend(session: boto3.Session, calls: Calls, clock: Clock) -> Backend:
    return Backend.connect(Settings(), session, clock=clock, sleep=clock.sleep)


@pytest.fixture
def editor(backend: Backend) -> Editor:
    return Editor(backend=backend)


LOGGERS = ("", "botocore", *(f"duebell{part}" for part in ("", ".worker", ".http", ".audit", ".editor")))


@pytest.fixture
def own_log(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Begin without what other tests set up in this process, and put everything back in the end."""
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [(one.handlers, one.level, one.propagate) for one in loggers]
    loggers[0].setLevel(logging.WARNING)
    for one in loggers[1:]:
        one.handlers, one.propagate = [], True
        one.setLevel(logging.NOTSET)
    monkeypatch.delenv("AWS_LAMBDA_LOG_LEVEL", raising=False)
    yield
    for one, (handlers, level, propagate) in zip(loggers, before, strict=True):
        one.handlers, one.level, one.propagate = handlers, level, propagate
        one.setLevel(level)
