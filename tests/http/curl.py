"""Requests as a curl command says them, sent to a test client."""

import argparse
import shlex
from typing import Any

from fastapi.testclient import TestClient

__all__ = ["send"]

_CURL = argparse.ArgumentParser(prog="curl", exit_on_error=False)
_CURL.add_argument("url")
_CURL.add_argument("-X", dest="method")
_CURL.add_argument("-H", dest="headers", action="append", default=[])
_CURL.add_argument("-d", dest="body")


def send(client: TestClient, command: str, **environment: str) -> Any:
    """The answer to the request of this command, which the shell would give this environment."""
    program, *words = shlex.split(command.replace("\\\n", " "))
    assert program == "curl"
    given = _CURL.parse_args(words)
    for name, value in environment.items():
        given.headers = [header.replace(f"${name}", value) for header in given.headers]
    headers = dict(header.split(": ", 1) for header in given.headers)
    path = given.url.partition("//")[2].partition("/")[2]
    method = given.method or ("GET" if given.body is None else "POST")
    return client.request(method, f"/{path}", content=given.body, headers=headers)
