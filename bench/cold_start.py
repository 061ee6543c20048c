"""What a cold start costs: the Lambda entry and its clients, beside bare boto3 with the same two clients."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from bench.timing import Rounds, on_processor, side_by_side

__all__ = ["LIMIT", "measure"]

#: How many times bare boto3's cold start ours may take, as medians.
LIMIT = 1.35

_ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "none",
    "AWS_SECRET_ACCESS_KEY": "none",
    "AWS_REGION": "eu-central-1",
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}

_BARE = "import boto3; boto3.client('dynamodb'); boto3.client('events')"
_OURS = (
    "import duebell_worker.entry; from duebell_shared.backend import Backend; "
    "from duebell_shared.settings import Settings; Backend.connect(Settings.from_env())"
)


def _process(code: str) -> Callable[[], object]:
    folders = [Path(__file__).parents[1] / part for part in ("worker", "shared")]
    path = os.pathsep.join(map(str, folders))
    environment = {**os.environ, **_ENVIRONMENT, "PYTHONPATH": path}
    return lambda: subprocess.run([sys.executable, "-c", code], env=environment, check=True)  # noqa: S603


def measure() -> Rounds:
    """Whole processes, in turns, by the processor time they take: Python's own start is in both."""
    calls = {"bare": _process(_BARE), "duebell": _process(_OURS)}
    for call in calls.values():
        call()  # once, so that what is compiled and cached is there for both
    return side_by_side(calls, rounds=15, repeats=1, clock=on_processor)
