"""Whole answers of the API, and its whole description: see `transcript.txt` and `openapi.txt`."""

import json
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from duebell_editor.http import create_app
from duebell_editor.http.headers import HEADERS
from tests import transcript

#: Headers that every answer has.
COMMON = {*map(str.lower, HEADERS), "cache-control", "content-length", "content-type"}


@pytest.mark.filterwarnings("ignore::duebell.UnknownAction")
def test_answers_are_as_kept() -> None:
    stage = transcript.stage()
    client = TestClient(create_app(stage.editor, identity_header="X-User"), base_url="http://127.0.0.1:8125")

    def ask(line: str) -> str:
        asked = re.fullmatch(r"(\S+) (\S+)((?: [A-Z][\w-]*=\S+)*)(?: ([{\[].*))?", line)
        assert asked, line
        method, url, named, body = asked.groups()
        headers: Any = [tuple(one.split("=", 1)) for one in named.split()]
        json_type = [("Content-Type", "application/json")] if body and "Content-Type" not in named else []
        answer = client.request(method, url, content=body, headers=[*headers, *json_type])
        told = [f"{name}: {value}\n" for name, value in answer.headers.items() if name not in COMMON]
        text = transcript.masked(json.dumps(answer.json()))
        text = textwrap.fill(text, 118, break_on_hyphens=False, break_long_words=False)
        return f"{answer.status_code}\n{''.join(told)}{text}\n"

    transcript.check(Path(__file__).with_name("transcript.txt"), stage, ask)


def bare(document: Any) -> Any:
    """The document without its words."""
    if isinstance(document, list):
        return [bare(one) for one in document]
    if not isinstance(document, dict):
        return document
    words = {name for name in ("description", "summary") if isinstance(document.get(name), str)}
    return {name: bare(one) for name, one in document.items() if name not in words}


def test_the_description_of_the_api_is_as_kept() -> None:
    rows = bare(create_app(transcript.stage().editor).openapi())
    for path, operations in rows.pop("paths").items():
        for method, operation in operations.items():  # the problems of all are the same
            told = {status: one for status, one in operation["responses"].items() if status < "400"}
            rows[f"{method} {path}"] = {**operation, "responses": told}
    components = rows.pop("components")
    rows |= {"security scheme": components["securitySchemes"], **components["schemas"], "info": None}
    now = "".join(f"{name}: {json.dumps(row)}\n" for name, row in rows.items())
    transcript.compare(Path(__file__).with_name("openapi.txt"), now)
