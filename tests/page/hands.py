"""What a reader of the page does all the time."""

import re

from playwright.sync_api import Locator, Page, expect

__all__ = ["field", "fill", "has_focus", "open_form", "press", "show", "tab", "wrong"]


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
    """What is said to be wrong with a field."""
    return page.locator(f"dialog .field:has([name={name}]) .wrong")


def has_focus(page: Page) -> bool:
    """Whether the focus is on something, not lost to the page as a whole."""
    return bool(page.evaluate("document.activeElement.matches(':not(body)')"))
