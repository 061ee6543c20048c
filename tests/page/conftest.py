"""A browser for the tests of the page: Debian's chromium, driven by Playwright."""

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from tests.page.scene import Scene
from tests.serving import serving

__all__ = ["FOREIGN_NAME", "Open"]

#: A name of somebody else's that leads to this machine, in the tests' browser.
FOREIGN_NAME = "evil.test"

#: Opens a page at this address, in a context of its own; the options are Playwright's.
Open = Callable[..., Page]

#: The longest wait of Playwright, in milliseconds: the machine may be busy.
_PATIENCE = 20_000


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One browser for all tests of the page.

    It is closed behind them: as long as Playwright is at work, its event loop runs in this thread, and the
    library's own calls say that they would block it.
    """
    chromium = shutil.which("chromium")
    if chromium is None:
        if os.environ.get("DUEBELL_BROWSER") == "required":
            pytest.fail("the page is tested in chromium, and there is none: apt-get install chromium")
        pytest.skip("there is no chromium: apt-get install chromium")
    expect.set_options(timeout=_PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium,
            args=[
                "--no-sandbox",
                "--disable-background-networking",
                f"--host-resolver-rules=MAP {FOREIGN_NAME} 127.0.0.1",
                # Others do not keep pages from this machine: what we refuse must not depend on the browser.
                "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests",
            ],
        )
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Opens pages, and sees to it at the end that none had anything to complain of."""
    complaints: list[str] = []
    contexts = []

    def open_page(url: str, **options: Any) -> Page:
        given = {"locale": "en-GB", "timezone_id": "Europe/Berlin", "reduced_motion": "reduce", **options}
        context = browser.new_context(**given)
        contexts.append(context)
        context.set_default_timeout(_PATIENCE)
        page = context.new_page()
        page.on("console", lambda message: _note(complaints, message.type, message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not complaints


def _note(complaints: list[str], kind: str, text: str) -> None:
    # The browser itself reports each answer that is not a success, also those that the page expects.
    if kind in {"error", "warning"} and not text.startswith("Failed to load resource"):
        complaints.append(f"{kind}: {text}")


@pytest.fixture
def scene() -> Scene:
    """A furnished scheduler in memory."""
    scene = Scene()
    scene.furnish()
    return scene


@pytest.fixture
def url(scene: Scene) -> Iterator[str]:
    """The address that serves it."""
    with serving(scene.editor) as url:
        yield url


@pytest.fixture
def page(open_page: Open, url: str) -> Page:
    """The page of the tasks, open."""
    return open_page(url)


@pytest.fixture
def rows(page: Page) -> Locator:
    """The rows of its list."""
    return page.locator("#list tbody tr")
