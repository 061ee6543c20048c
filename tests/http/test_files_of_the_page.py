"""The page and its files as the HTTP editor serves them."""

import re
from pathlib import Path

from fastapi.testclient import TestClient

from duebell_editor import http


def test_the_page_runs_nothing_but_its_own_files(client: TestClient) -> None:
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert page.headers["content-security-policy"].startswith("default-src 'self'")
    assert "<style" not in page.text
    assert " style=" not in page.text
    own = re.findall(r'(?:src|href)="(static/[^"]+)"', page.text + client.get("/docs").text)
    assert len(own) > 8
    for path in own:
        assert client.get(path).status_code == 200
    for script in (Path(http.__file__).parent / "page" / "js").glob("*.js"):
        text = script.read_text()
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text), script
        for name in re.findall(r'from "\./([^"]+)"', text):
            assert client.get(f"/static/js/{name}").status_code == 200
