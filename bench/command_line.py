"""The processor time of frequent commands, beside importing boto3 and making its client."""

import subprocess
import sys
from functools import partial

from bench.stub import environment_of, stub
from bench.timing import Rounds, on_processor, side_by_side

__all__ = ["LIMIT", "measure"]

#: The most that `duebell list` may take, in multiples of boto3's client; of medians.
LIMIT = 1.3

_BOTO3 = [sys.executable, "-c", "import boto3; boto3.client('dynamodb')"]


def measure() -> Rounds:
    """Whole processes, in turns, against a stub that answers at once and has no tasks.

    boto3         `import boto3` and a client for DynamoDB
    --help, list  `duebell --help`, and `duebell list`
    """
    with stub() as endpoint:
        environment = environment_of(endpoint)

        def run(*command: str) -> None:
            subprocess.run(command, env=environment, capture_output=True, check=True)  # noqa: S603

        calls = {"boto3": partial(run, *_BOTO3)}
        calls |= {name: partial(run, sys.executable, "-m", "duebell", name) for name in ("--help", "list")}
        for call in calls.values():
            call()  # the machine reads and compiles the files
        return side_by_side(calls, rounds=25, repeats=1, clock=on_processor)
