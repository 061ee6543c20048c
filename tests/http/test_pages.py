"""The pages in their frame: one header, with a link to each."""

import re

import pytest
from fastapi.testclient import TestClient

from duebell_editor.http.app import create_app
from duebell_editor.http.pages import PAGES, Page
from tests.page.scene import Scene


@pytest.fixture
def client() -> TestClient:
    return TestClient(create_app(Scene().editor), base_url="http://127.0.0.1")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.file)
def test_a_page_links_to_the_others_and_marks_its_own_link(client: TestClient, page: Page) -> None:
    html = client.get(page.path).text
    links = re.findall(r'<a href="\.(/\w*)"( aria-current="page")?>(\w+)</a>', html)
    assert [(path, name) for path, _, name in links] == [(one.path, one.name) for one in PAGES]
    assert [path for path, current, _ in links if current] == [page.path]
    assert f"<title>{page.title}</title>" in html


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.file)
def test_what_a_page_names_is_there(client: TestClient, page: Page) -> None:
    html = client.get(page.path).text
    # The files of its own and of the frame
    files = re.findall(r'(?:href|src)="(static/[^"]+)"', html)
    modules = page.render(schemas="{}", read_only=False, bundled=False)
    for file in files + re.findall(r'(?:href|src)="(static/[^"]+)"', modules):
        assert client.get(file).status_code == 200, file
    # The element that the first link skips to, each id once, and the same without JavaScript
    ids = re.findall(r' id="([^"]+)"', html)
    assert page.content in ids
    assert len(ids) == len(set(ids))
    assert client.get(f"/api/{page.api}").status_code == 200
