"""Whole answers of the API, and its whole description: see `transcript.txt` and `openapi.txt`."""

import json
import re
import textwrap
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
from fastapi.testclient import TestClient

from duebell import DuebellError
from duebell_editor.http import create_app, serve
from duebell_editor.http.headers import HEADERS
from tests import transcript

#: Headers that every answer has, and values that most have.
COMMON, USUAL = {*map(str.lower, HEADERS), "content-length"}, {"no-store", "application/json"}


@pytest.mark.filterwarnings("ignore::duebell.UnknownAction")
@pytest.mark.parametrize("file", ["transcript.txt", "guard.txt"])
def test_answers_are_as_kept(file: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO" if file == "guard.txt" else "ERROR", "duebell")
    stage = transcript.stage()

    def new_client(root_path: str = "", **given: Any) -> TestClient:
        app = create_app(stage.editor, **given)
        return TestClient(app, base_url="http://127.0.0.1:8125", root_path=root_path)

    def stop(url: str) -> None:
        raise ConnectionAbortedError(url)

    client = new_client(identity_header="X-User")
    store, failing = stage.editor._backend.store, pytest.MonkeyPatch()

    def ask(line: str) -> str:
        nonlocal client
        asked = re.fullmatch(r"(\S+) (\S+)((?: [A-Za-z][\w-]*=\S*)*)(?: ([{\[].*))?", line)
        assert asked, line
        method, url, named, body = asked.groups()
        try:
            if method == "SERVER":
                client = new_client(**json.loads(url))
                return ""
            if method == "FAIL":  # the first calls of a method of the store, in the next request
                name, times = url.split(":")
                failing.setattr(store, name, transcript.failing(store, name, int(times)))
                return ""
            if method == "LISTEN":
                serve(stage.editor, **json.loads(url), started=stop)
        except (DuebellError, ConnectionAbortedError) as error:
            return re.sub(r":\d+/", ":<port>/", f"{error}\n")
        caplog.clear()
        headers: Any = [tuple(map(unquote_to_bytes, one.split("=", 1))) for one in named.split()]
        json_type = [(b"Content-Type", b"application/json")] if body and "Content-Type" not in named else []
        answer = client.request(method, url, content=body, headers=[*headers, *json_type])
        failing.undo()
        is_html = answer.headers["content-type"].startswith("text/html")
        less = {"content-length"} if is_html else COMMON
        told = [one for one in answer.headers.items() if one[0] not in less and one[1] not in USUAL]
        lines = [f"{name}: {value}" for name, value in told]
        lines += [f"log: {one.getMessage()} {json.dumps(vars(one)['fields'])}" for one in caplog.records]
        if is_html:
            schemas = "" if url == "/" else '|<script type="application/json".*?</script>'
            words = r'(?s)<main>.*</main>|(?<="description": ")(\\.|[^"\\])*' + schemas
            lines += re.sub(words, "…", answer.text).splitlines()
        else:
            text = transcript.masked(json.dumps(answer.json()) if answer.text else "")
            lines += textwrap.wrap(text, 118, break_on_hyphens=False, break_long_words=False)
        return "\n".join([str(answer.status_code), *lines, ""])

    transcript.check(Path(__file__).with_name(file), stage, ask)


def bare(document: Any) -> Any:
    """The document without the words of docstrings, but for the unit at their end."""
    if isinstance(document, list):
        return [bare(one) for one in document]
    if not isinstance(document, dict):
        return document
    is_field = {"title", "in"} & document.keys() and not {"properties", "enum"} & document.keys()
    if is_field:
        return {name: one if name == "description" else bare(one) for name, one in document.items()}
    words = {name for name in ("description", "summary") if isinstance(document.get(name), str)}
    told = {name: "…" + " (in seconds)" * document[name].endswith(" (in seconds)") for name in words}
    return {name: told.get(name, bare(one)) for name, one in document.items() if one != ""}


def test_the_description_of_the_api_is_as_kept() -> None:
    rows = bare(create_app(transcript.stage().editor).openapi())
    for path, operations in rows.pop("paths").items():
        for method, operation in operations.items():  # the problems of all are the same
            told = {status: one for status, one in operation["responses"].items() if status < "400"}
            rows["problems"] = {name: one for name, one in operation["responses"].items() if name not in told}
            rows[f"{method} {path}"] = {**operation, "responses": told}
    guarded = create_app(transcript.stage().editor, token="1234567890123456").openapi()
    rows["security with a token"] = guarded["security"]
    components = rows.pop("components")
    rows |= {"security scheme": components["securitySchemes"], **components["schemas"], "info": None}
    now = "".join(f"{name}: {json.dumps(row)}\n" for name, row in rows.items())
    transcript.compare(Path(__file__).with_name("openapi.txt"), now)
