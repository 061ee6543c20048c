"""What a reader of the page does all the time."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

__all__ = ["PHONE", "field", "has_focus", "is_accessible", "open_form", "press", "show", "wrong"]

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


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


def wrong(page: Page, name: str) -> Locator:
    """What is said to be wrong with a field."""
    return page.locator(f"dialog .field:has([name={name}]) .wrong")


def has_focus(page: Page) -> bool:
    """Whether the focus is on something, not lost to the page as a whole."""
    return bool(page.evaluate("document.activeElement.matches(':not(body)')"))


def is_accessible(page: Page) -> None:
    """No serious finding of axe, the contrast of colours included."""
    found = Axe().run(page).response["violations"]
    serious = [one for one in found if one["impact"] in {"serious", "critical"}]
    assert not [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in serious]
