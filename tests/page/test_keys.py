"""The keyboard shortcuts of each page."""

from playwright.sync_api import Page, expect

from tests.page.conftest import Open
from tests.page.seen import is_accessible


def test_keys_lead_through_the_list(page: Page) -> None:
    expect(page.locator("#list tbody tr").first).to_be_visible()
    page.keyboard.press("j")
    expect(page.get_by_role("button", name="sale-40", exact=True)).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.get_by_label("Select sale-41")).to_be_checked()
    page.keyboard.press("k")
    expect(page.get_by_role("button", name="sale-40", exact=True)).to_be_focused()
    # Text is text
    page.keyboard.press("/")
    search = page.get_by_label("Search", exact=True)
    expect(search).to_be_focused()
    page.keyboard.type("x/j?")
    expect(search).to_have_value("x/j?")
    search.blur()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("j")
    is_accessible(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_keys_do_on_each_page_what_it_has(open_page: Open, url: str) -> None:
    page = open_page(f"{url}schedules")
    expect(page.locator("#list tbody tr").first).to_be_visible()
    page.keyboard.press("j")
    expect(page.get_by_role("button", name="daily-report", exact=True)).to_be_focused()
    page.keyboard.press("x")
    expect(page.get_by_label("Select daily-report")).to_be_checked()
    page.keyboard.press("/")
    expect(page.get_by_label("Id starts with")).to_be_focused()
    page.get_by_role("link", name="Actions").focus()
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(keys).to_contain_text("Search")
    expect(keys).to_contain_text("Select")
    page.goto(f"{url}actions")
    expect(page.locator("#environment")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.press("?")
    expect(keys).to_be_visible()
    expect(keys).not_to_contain_text("Search")
    expect(keys).not_to_contain_text("Select")
