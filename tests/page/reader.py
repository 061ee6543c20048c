"""A user of the page, by what they click and read."""

import re
from typing import Any
from zoneinfo import ZoneInfo

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import FloatRect, Locator, Page, Route, expect

BERLIN = ZoneInfo("Europe/Berlin")
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


#: Rules of axe that are off unless asked for: what is read on a button must be part of its name.
_MORE = {"rules": {"label-content-name-mismatch": {"enabled": True}}, "resultTypes": ["violations"]}


def is_accessible(page: Page) -> None:
    """No finding of axe, the contrast of colours included."""
    found = Axe().run(page, options=_MORE).response["violations"]
    told = [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found]
    assert not told


def fits(page: Page) -> None:
    """Nothing is wider than the screen, or than its dialog."""
    assert page.evaluate(
        "document.documentElement.scrollWidth <= innerWidth"
        ' && [...document.querySelectorAll("dialog")].every(one => one.scrollWidth <= one.clientWidth)'
    )


def is_for_everyone(page: Page) -> None:
    """It fits and is accessible, dark on a small screen and light on a large one."""
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size(PHONE["viewport"])
    fits(page)
    is_accessible(page)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 720})
    fits(page)
    is_accessible(page)


def box(shown: Locator) -> FloatRect:
    """The page's address."""
    found = shown.bounding_box()
    assert found
    return found


def asked(page: Page, part: str) -> list[str]:
    """The requests from now on whose address holds this part, as they are made."""
    found: list[str] = []
    page.on("request", lambda request: found.append(request.url) if part in request.url else None)
    return found


class Held:
    """Requests that get no answer until they are let go."""

    def __init__(self, page: Page, pattern: str) -> None:
        self._routes: list[Route] = []
        self._is_over = False
        page.route(pattern, self._take)

    def _take(self, route: Route) -> None:
        if self._is_over:
            route.continue_()
        else:
            self._routes.append(route)

    def let_go(self) -> None:
        self._is_over = True
        for route in self._routes:
            route.continue_()


def says(shown: Locator, *words: str | re.Pattern[str]) -> None:
    """All these words are in it."""
    for one in words:
        expect(shown).to_contain_text(one)


def press(page: Page, name: str, *, then: str = "") -> None:
    """Press the button; `then` these words can be seen."""
    page.get_by_role("button", name=name, exact=True).click()
    if then:
        expect(page.get_by_text(then)).to_be_visible()


def tab(page: Page, name: str) -> Locator:
    """The tab of the list with this name, whatever its count."""
    return page.locator("#tabs").get_by_role("button", name=re.compile(f"^{name}"))


def show(page: Page, id: str) -> None:
    """Open the task from the list."""
    press(page, id)
    expect(page.get_by_role("dialog", name=id)).to_be_visible()


def open_form(page: Page) -> None:
    """The form for a new task, filled so that it could be sent, with all that is in it to be seen."""
    page.locator("#add").click()
    field(page, "action").fill("greet")
    page.get_by_text("More", exact=True).click()


def field(page: Page, name: str) -> Locator:
    return page.locator(f"dialog [name={name}]").last


def fill(page: Page, **values: str) -> None:
    """Write these values into the fields of the form."""
    for name, value in values.items():
        field(page, name).fill(value)


def wrong(page: Page, name: str) -> Locator:
    """The error shown at a field."""
    return page.locator(f"dialog .field:has([name={name}]) .wrong")


def has_focus(page: Page) -> bool:
    """True if an element has the focus; false if only the page has."""
    return bool(page.evaluate("document.activeElement.matches(':not(body)')"))
