"""The pages, their files and their bundle as the HTTP editor serves them."""

import os
import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from duebell_editor import http
from duebell_editor.http import pages
from duebell_editor.http.app import create_app
from duebell_editor.http.pages import PAGES, Page
from tests import bundle
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
def test_files_that_a_page_names_exist(client: TestClient, page: Page) -> None:
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


def test_the_page_runs_nothing_but_its_own_files(client: TestClient) -> None:
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert page.headers["content-security-policy"].startswith("default-src 'self'")
    assert "<style" not in page.text
    assert " style=" not in page.text
    for script in (Path(http.__file__).parent / "page" / "js").glob("*.js"):
        text = script.read_text()
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text), script
        for name in re.findall(r'from "\./([^"]+)"', text):
            assert client.get(f"/static/js/{name}").status_code == 200


def test_the_bundle_is_of_the_modules_that_are_here() -> None:
    assert pages.is_bundled(), "the page's modules or styles changed: run `make bundle`"


def test_the_bundle_is_what_esbuild_makes(tmp_path: Path) -> None:
    modules = os.environ.get("DUEBELL_NODE_MODULES")
    if not modules:
        pytest.skip("DUEBELL_NODE_MODULES names no folder with esbuild, which needs Node.js")
    bundle.make(Path(modules) / ".bin" / "esbuild", tmp_path)
    made, kept = (
        {one.name: one.read_bytes() for one in folder.iterdir()} for folder in (tmp_path, pages.BUNDLE)
    )
    assert made == kept, "run `make bundle`"


def test_a_page_loads_one_script_and_one_style_sheet_unless_someone_works_on_them() -> None:
    for page in PAGES:
        for is_bundled in (True, False):
            html = page.render(schemas="{}", read_only=False, bundled=is_bundled)
            assert (html.count('<link rel="stylesheet"'), html.count('<script type="module"')) == (1, 1)
        assert f'href="static/{page.file}.css"' in html


def test_a_bundle_of_other_modules_is_not_served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pages, "BUNDLE", tmp_path)
    assert not pages.is_bundled()
    (tmp_path / "digest").write_text("another")
    assert not pages.is_bundled()
