"""The parts of a bundle and of the stack on this machine, without their processes: tests/infra/parts.txt."""

import io
import json
import os
import re
import subprocess
import sys
import zipfile
from datetime import UTC, datetime, timedelta  # noqa: F401
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import duebell_editor.http
from duebell import Worker  # noqa: F401
from duebell_infra.bundle import bundle, dependencies, import_check, import_check_child, sources  # noqa: F401
from duebell_infra.bundle.target import Architecture, Place, Target
from duebell_infra.deploy.deploy import Deployment
from duebell_infra.deploy.parameters import settings_of
from duebell_infra.errors import BundleFailed
from duebell_infra.local import ministack, service
from duebell_infra.local import stack as local_stack
from duebell_infra.local.state import StateFolder
from duebell_infra.testing import Bell, InlinePool, Rehearsal  # noqa: F401
from duebell_shared.deliveries.delivery import deliveries_in
from duebell_shared.settings import Settings
from tests.infra.test_guard import HERE, KEY, SIGNED, ask, signed_by  # noqa: F401
from tests.transcript import compare, masked

FILE = Path(__file__).with_name("parts.txt")
MASKS = {
    r"[^\"' ]*/duebell-(bundle|import|requirements)-\w+": "<made>",
    re.escape(sys.executable): "python",
    re.escape(str(Path(bundle.__file__).parents[1])): "<infra>",
    r'"beside": \{[^}]+\}': '"beside": "<libraries>"',
    r"@[\w.-]+ via": "@<host> via",
    r"choose --python [\d.]+": "choose --python <this>",
    r"Python [\d.]+ on \w+, this machine": "<this machine>",
    r"==[\d.]+": "==<release>",
    r"\b\d\d:\d\d:\d\d\b": "<time>",
    r"DUEBELL[0-9A-F]{32}": "<key>",
    r'127.0.0.1:\d+|"GATEWAY_PORT": "\d+"': "<port>",
}


class Process:
    """A process that has ended with the status and the text of `outcome`; without a status, it goes on."""

    outcome: tuple[int | None, str] = (0, "")
    pid, stdin = 1, None

    def __init__(self, command: list[str], **given: Any) -> None:
        self.returncode, self.stderr = self.outcome
        told = {name: getattr(one, "name", one) for name, one in given.items() if name != "pass_fds"}
        print(
            ">", [re.sub(r"^\d+$", "<descriptor>", part) for part in command], json.dumps(told, default=str)
        )
        streams: list[Any] = [given.get("stdout"), given.get("stderr")]
        for stream in streams:
            if hasattr(stream, "write"):
                stream.write(self.stderr.encode())
        if self.stderr.startswith("{") and command[-1].startswith("{"):
            Path(json.loads(command[-1])["outcome"]).write_text(self.stderr)
        if self.returncode is None and "timeout" in given:
            raise subprocess.TimeoutExpired(command, given["timeout"])

    def poll(self) -> int | None:
        return self.returncode

    def terminate(self) -> None:
        print("> terminated")

    def kill(self) -> None:
        print("> killed")
        self.returncode = -9

    def wait(self, limit: float | None = None) -> None:
        if self.returncode is None:
            raise subprocess.TimeoutExpired("", limit or 0)


class Part:
    """A part of the stack that says how it is made, and has attributes for its users."""

    endpoint_url, worker_log, begun, settings, session = (
        "http://127.0.0.1:4566",
        Path("log"),
        0,
        Settings(),
        None,
    )
    is_running, environment = True, {"AWS_REGION": "here"}

    def __init__(self, *given: Any, **named: Any) -> None:
        shown = {name: one for name, one in named.items() if not callable(one)}
        print(">", json.dumps([*(one for one in given if isinstance(one, Path)), shown], default=str))
        self.actions = named.get("actions") or ""
        self.deliveries = list(deliveries_in(json.dumps(named.get("deliver") or {})).values())
        self.intake_url = "https://intake" if named.get("parameters", {}).get("Intake") == "yes" else None

    def __enter__(self) -> "Part":
        return self

    def __exit__(self, *_: object) -> None:
        print("> stopped")

    def sources(self) -> set[Path]:
        return set()

    def start(self) -> None:
        print("> start")

    def stop(self) -> None:
        print("> stop")


def served(**given: Any) -> None:
    """Serve the stack in `state`, with these options."""
    usual: Any = {"port": 4803, "editor_port": 4804, "precision": "minute", "say": print}
    usual |= dict.fromkeys(("actions", "deliver", "intake", "requirements"))
    service.serve(Path("state"), **{**usual, **given})


def started(folder: StateFolder) -> None:
    """Start MiniStack, whose process ends at once."""
    with folder:
        ministack.MiniStack(folder, ministack.free_port()).start()


def stopped(folder: StateFolder) -> None:
    """Stop MiniStack, once it has answered."""
    with folder, pytest.MonkeyPatch.context() as patched:
        patched.setattr(ministack.MiniStack, "_answers", lambda _: True)
        stack = ministack.MiniStack(folder, ministack.free_port())
        stack.start()
        print(stack.is_running)
        stack.stop()


def embedded(*, rings_at: datetime | None = None, **given: Any) -> Any:
    """Start the stack of this machine in memory, reload its worker, and stop it. Returns its attributes."""
    variables = {"DUEBELL_DELIVERIES": '{"a": {"to": "https://a.b"}}', "DUEBELL_WORKER": ""}
    variables |= {"DUEBELL_WORKER": given["actions"]} if "actions" in given else {}
    client = SimpleNamespace(
        get_function_configuration=lambda **_: {"Environment": {"Variables": variables}},
        get_queue_url=lambda **asked: {"QueueUrl": f"https://{asked['QueueName']}"},
        invoke=lambda **asked: print("> invoke", asked),
    )

    def deploy(_: object, deployment: Deployment, *, say: Any, synced: Any) -> Settings:
        print(">", deployment)
        say("deployed")
        synced("synced")
        return settings_of(deployment.name, deployment.parameters)

    status = SimpleNamespace(status=lambda: SimpleNamespace(rings_at=rings_at))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(local_stack, "MiniStack", Part)
        patched.setattr(local_stack, "embedded_session", lambda *_: SimpleNamespace(client=lambda _: client))
        patched.setattr(local_stack, "deploy", deploy)
        patched.setattr(local_stack, "Editor", lambda *_, **__: status)
        made = local_stack.EmbeddedStack(Path("state"), **given, say=print, synced=print)
        with made as stack:
            stack.reload()
            told = [stack.actions, stack.deliveries[0].name, stack.intake_url, stack.environment]
            return [*told, sorted(stack.sources()), stack.is_running, stack.worker_log]


def install(folder: Path, target: Target, *, requirements: Path | None) -> dict[str, Path]:
    """No libraries. Here there are none to be had, if a process would fail."""
    print("> install", folder.name, target, requirements)
    if target.place is Place.THIS_MACHINE and Process.outcome[0]:
        raise BundleFailed("no wheels")
    return {}


def built(actions: str | None, **given: Any) -> Any:
    """Build a bundle for Lambda with these actions alone. Returns its files and its attributes."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(bundle, "own_files", dict)
        patched.setattr(bundle, "install", install)
        made = bundle.build(actions, Target(python="3.14", architecture=Architecture.X86_64), **given)
        with zipfile.ZipFile(io.BytesIO(made.data)) as archive:
            names = archive.namelist()
        return [names, made.actions, made.files, made.notes, made.deliveries]


def rehearse(*lengths: dict[str, float]) -> Any:
    """The attempts, tasks, deliveries and runs of the actions in app.py after these lengths of time."""
    import app  # type: ignore[import-not-found]  # noqa: PLC0415

    with Rehearsal(app.worker) as stage:
        print(*stage.deploy().steps, sep="\n")
        for action in ("once", "fails", "tell"):
            stage.editor.add(action, due=timedelta(minutes=1), payload={"n": 1}, id=action)
        ran = [len(stage.let_time_pass(timedelta(**length))) for length in lengths]
        listed = stage.editor.list().tasks
        tasks = [f"{one.id} {one.status} {one.due:%d %H.%M} {one.attempt}" for one in listed]
        runs = [f"{one.done} {one.retried} {one.failed} {one.rings_at:%d %H.%M}" for one in stage.reports]
        return [ran, f"{stage.now:%d %H.%M.%S}", tasks, [one.body for one in stage.delivered], runs]


def serve_editor(_: object, host: str, port: int, *, token: str | None, started: Any) -> None:
    print("> serve", host, port, token)
    started(f"http://{host}:{port}/")


def asked(line: str) -> str:
    try:
        result = eval(line)
    except (Exception, SystemExit) as error:  # noqa: BLE001 (its name and words are what is kept)
        return f"{type(error).__name__}: {error}\n"
    plain = partial(json.dumps, default=lambda one: one.decode() if isinstance(one, bytes) else str(one))
    return "" if result is None else f"{plain(result)}\n"


def test_parts_are_made_and_refused_as_before(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text, names = "", {*import_check._INHERITED, *ministack._INHERITED, "AWS_PROFILE", "DUEBELL_EDITOR_TOKEN"}
    with monkeypatch.context() as patched:
        patched.chdir(tmp_path)
        patched.syspath_prepend(tmp_path)
        patched.setattr(
            os, "environ", {name: f"our-{name}" for name in sorted(names - {"TMPDIR", "TEMP", "TMP"})}
        )
        for module, name, made in (
            (subprocess, "run", Process),
            (subprocess, "Popen", Process),
            (service, "EmbeddedStack", Part),
            (service, "Editor", Part),
            (duebell_editor.http, "serve", serve_editor),
            (ministack, "_STOP_LIMIT", 0.0),
        ):
            patched.setattr(module, name, made)
        for line in re.findall(r"(?m)^[#$] .*$", FILE.read_text(encoding="utf-8")):
            answer = ""
            what, name, content = (*line[2:].replace("\\n", "\n").split(" ", 2), "", "")[:3]
            if line[0] == "$":
                answer = asked(line[2:])
            elif what == "file":
                Path(name).parent.mkdir(exist_ok=True)
                Path(name).write_text(content, encoding="utf-8")
            else:
                Process.outcome = (int(name) if name.isdecimal() else None, content)
            answer = capsys.readouterr().out + answer
            for pattern, mask in {**MASKS, re.escape(str(tmp_path)): "<here>"}.items():
                answer = re.sub(pattern, mask, answer)
            text += f"{line}\n{masked(answer)}"
    compare(FILE, text)
