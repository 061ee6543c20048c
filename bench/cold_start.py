"""The processor time of a cold start: the bundle that `duebell bundle` builds, beside bare boto3.

Whole processes, with nothing of this environment but the SDK, as Lambda's runtime brings it: compiled.
Nothing else is compiled or cached but what the bundle holds.
"""

import compileall
import io
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

from bench.stub import environment_of, stub
from bench.timing import Rounds, on_processor
from duebell_infra.bundle.bundle import build
from duebell_infra.bundle.dependencies import IN_RUNTIME
from duebell_infra.bundle.target import Target

__all__ = ["LIMIT", "measure"]

#: The most that our cold start may take, in multiples of bare boto3's; of medians.
LIMIT = 1.0

_ROUNDS = 25

_ACTIONS = """
from duebell import Worker

worker = Worker.from_env()


@worker.action("act")
def act() -> None: ...
"""

_LAMBDA = {
    "AWS_LAMBDA_FUNCTION_NAME": "duebell",
    "DUEBELL_WORKER": "jobs:worker",
    "DUEBELL_METRICS": "on",
}

#: Imports the modules that Lambda's Python has loaded before it imports a handler.
_RUNTIME = "import json, logging, os, sys, traceback"

#: A Lambda's process is not ended like this one: Python would look through all objects once more.
_END = "os._exit(0)"

#: With the settings of our clients, so that both make the same.
_BARE = """
import boto3
from botocore.config import Config

retries = {"mode": "standard", "total_max_attempts": 4}
config = Config(connect_timeout=2, read_timeout=5, parameter_validation=False, retries=retries)
boto3.client("dynamodb", config=config)
boto3.client("events", config=config)
"""
_OURS = """
import duebell.lambda_handler
from duebell_worker.entry import connected_backend

connected_backend()
"""
_START = """
from duebell_worker.entry import _worker

_worker()
"""
_ONE = """
from duebell.lambda_handler import handler


class Context:
    aws_request_id = "one"

    def get_remaining_time_in_millis(self) -> int:
        return 300_000


if handler({}, Context())["done"] != 1:
    raise SystemExit("the task is not done")
"""


def measure() -> Rounds:
    """In turns, by the processor time that each process takes: Python's own start is in all of them.

    bare     bare boto3 with the same two clients
    duebell  the Lambda's entry and its clients
    one      the same, and a first invocation that finds one task due, against a stub that answers at once
    """
    with _deployed() as folders, tempfile.TemporaryDirectory() as elsewhere:
        codes = {"bare": _BARE, "duebell": _OURS, "one": _ONE}
        taken: dict[str, list[float]] = {name: [] for name in codes}
        names = list(codes)
        for number in range(_ROUNDS + 1):
            first = number % len(names)
            for name in names[first:] + names[:first]:
                with stub(1) as endpoint:
                    if name == "one":  # it is no first start: the queue has its records
                        _run(_START, folders, endpoint, elsewhere)
                    us = on_processor(lambda: _run(codes[name], folders, endpoint, elsewhere))  # noqa: B023
                if number:  # in the first round, the machine reads the files
                    taken[name].append(us)
    return Rounds(us=taken)


def _run(code: str, folders: list[str], endpoint: str, elsewhere: str) -> None:
    """A process in which nothing can be imported but what is in these folders and the standard library."""
    begin = f"{_RUNTIME}\nsys.path[:0] = {folders!r}\n"
    subprocess.run(  # noqa: S603
        [sys.executable, "-I", "-S", "-B", "-c", f"{begin}{code}{_END}"],
        env={**environment_of(endpoint), **_LAMBDA},
        cwd=elsewhere,
        stdout=subprocess.DEVNULL,
        check=True,
    )


@contextmanager
def _deployed() -> Iterator[list[str]]:
    """The folders of the bundle and of the SDK, as they are on Lambda."""
    with tempfile.TemporaryDirectory(prefix="duebell-cold-start-") as made:
        sources, bundle, runtime = (Path(made, name) for name in ("sources", "bundle", "runtime"))
        sources.mkdir()
        (sources / "jobs.py").write_text(_ACTIONS, encoding="utf-8")
        here = Target.this_machine()
        lambdas = Target(python=here.python, architecture=here.architecture)
        target = lambdas if lambdas.runs_here else here
        with zipfile.ZipFile(io.BytesIO(build("jobs:worker", target, folder=sources).data)) as archive:
            archive.extractall(bundle)
        runtime.mkdir()
        for name in IN_RUNTIME:
            _copy(metadata.distribution(name), runtime)
        compileall.compile_dir(runtime, quiet=1)
        yield [str(bundle), str(runtime)]


def _copy(distribution: metadata.Distribution, folder: Path) -> None:
    """The modules of a distribution, without their compiled files."""
    tops = {file.parts[0] for file in distribution.files or () if file.suffix == ".py"}
    for top in tops - {".."}:  # scripts
        place = Path(str(distribution.locate_file(top)))
        if place.is_dir():
            shutil.copytree(place, folder / top, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(place, folder / top)
