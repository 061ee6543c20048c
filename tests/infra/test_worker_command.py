"""`duebell worker`: what it refuses before it starts, its health over HTTP, its container and its role."""

import json
import re
import select
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from typer.testing import CliRunner

from duebell import Editor, Worker
from duebell_infra.local import worker_command
from duebell_infra.local.worker_command import serving_health
from duebell_infra.testing import InlinePool
from duebell_shared.backend import Backend
from duebell_shared.errors import InvalidSettings
from duebell_shared.settings import Settings
from duebell_worker.process import Health, Process, State
from tests.e2e.support import duebell
from tests.infra.policies import Guarded, statements_of
from tests.support import REGION, Clock

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "containers.md"
DOCKERFILE = ROOT / "infra" / "worker.Dockerfile"


def blocks() -> list[Any]:
    """The page's JSON."""
    return [json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)]


# The command.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--health-port", "70000"), "--health-port"),
        ((), "--actions no.such.module:worker cannot be imported: ModuleNotFoundError"),
    ],
)
def test_what_cannot_be_right_is_told_before_anything_is_called(
    options: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    done = duebell(
        "worker", "--actions", "no.such.module:worker", "--region", "eu-central-1", *options, folder=tmp_path
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


# Its health over HTTP.


@pytest.mark.parametrize(
    ("options", "served"), [((), []), (("--health-port", "0", "--health-host", "::1"), [("::1", 0)])]
)
def test_health_is_served_if_a_port_is_given(
    options: tuple[str, ...], served: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = MagicMock(return_value=nullcontext(80))
    monkeypatch.setattr(worker_command, "worker_here", lambda *_: None)
    monkeypatch.setattr(worker_command, "serving_health", asked)
    monkeypatch.setattr("duebell_worker.process.Process", MagicMock())
    CliRunner().invoke(worker_command.app, ["--actions", "shop:worker", *options])
    assert [call.args[:2] for call in asked.call_args_list] == served


@pytest.fixture
def health() -> dict[str, Any]:
    return {"is_well": True, "state": State.WAITING}


@pytest.fixture
def url(health: dict[str, Any]) -> Iterator[str]:
    with serving_health("127.0.0.1", 0, lambda: Health(**health)) as port:
        yield f"http://127.0.0.1:{port}"


def answer(url: str, method: str = "GET") -> tuple[int, str]:
    """The status and the body."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method=method)) as found:
            return found.status, found.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_the_status_tells_the_health(url: str, health: dict[str, Any]) -> None:
    status, body = answer(f"{url}/health")
    assert (status, json.loads(body)["state"]) == (200, "waiting")
    with urllib.request.urlopen(url) as found:
        told = {name: value for name, value in found.headers.items() if name != "Date"}
    length = {"Content-Length": str(len(body.encode()))}
    kind = {"Server": "duebell ", "Content-Type": "application/json", "Cache-Control": "no-store"}
    assert told == kind | length
    health |= {"is_well": False, "error": "no answer"}
    status, body = answer(url)
    assert (status, json.loads(body)["error"]) == (503, "no answer")


def test_an_address_that_cannot_be_had_is_told_with_the_options_that_choose_another(url: str) -> None:
    taken = int(url.rpartition(":")[2])
    for host, port in (("192.0.2.1", 0), ("127.0.0.1", taken)):
        message = f"port {port} cannot be used.*--health-port.*--health-host"
        given = (host, port, lambda: Health(is_well=True, state=State.WAITING))
        with pytest.raises(InvalidSettings, match=message), serving_health(*given):
            pass


def test_a_client_that_sends_slowly_is_cut_off(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_command, "_PATIENCE", 0.05)
    with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as slow:
        # Given a client that sends a byte again and again, until something comes back
        for _ in range(300):
            if select.select([slow], [], [], 0.01)[0]:
                break
            slow.send(b"x")
        else:
            pytest.fail("the connection is kept")


# Its role, its container.


def test_the_documented_role_can_do_all_that_a_process_does(
    template: Any, clock: Clock, backend: Backend
) -> None:
    # Given the editor policy and the page's statement, for the table of this test
    [documented] = [block for block in blocks() if "Statement" in block]
    text = json.dumps(documented["Statement"]).replace("eu-north-1", REGION).replace("sales", "duebell")
    editors = statements_of(template["Resources"]["EditorPolicy"]["Properties"]["PolicyDocument"])
    session = Guarded([*editors, *json.loads(text)]).session
    until = clock() + timedelta(minutes=10)

    def sleep(seconds: float) -> None:
        clock.sleep(seconds)
        if clock() > until:
            process.drain()

    limited = Backend.connect(Settings(), session, clock=clock, sleep=sleep)
    # When a process runs a task with it, and another one is retried
    worker = Worker(backend=limited, pool=lambda _: InlinePool())
    ran: list[str] = []

    @worker.action("act")
    def act(_: object, task: Any) -> None:
        ran.append(task.id)
        if len(ran) == 1:
            raise ValueError("not yet")

    Editor(backend=backend).add("act", due=timedelta(seconds=30), id="a")
    process = Process(worker)
    # Then no call of it is refused
    assert process.run()
    assert ran == ["a", "a"]
    assert process.health().error is None


def test_the_container_runs_the_command_and_asks_where_it_answers() -> None:
    lines = DOCKERFILE.read_text().replace("\\\n", " ").splitlines()
    [line] = [line for line in lines if line.startswith("ENTRYPOINT ")]
    entry = json.loads(line.removeprefix("ENTRYPOINT "))
    assert entry[:2] == ["duebell", "worker"]
    [check] = [line for line in lines if line.startswith("HEALTHCHECK ")]
    [container] = [block for block in blocks() if "healthCheck" in block]
    # The same question in both, of the port that the command is given
    command = json.loads(check[check.index("[") :])
    assert ["CMD", *command] == container["healthCheck"]["command"]
    assert f":{entry[entry.index('--health-port') + 1]}'" in command[-1]
    compile(command[-1], "healthcheck", "exec")
    # ECS waits longer than the process drains
    given = container["command"]
    assert float(given[given.index("--drain-seconds") + 1]) + 10 <= container["stopTimeout"] <= 120
