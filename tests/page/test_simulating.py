"""The simulation on the page: the queue as it is, and with the changes."""

from playwright.sync_api import expect

from tests.page.conftest import Open
from tests.page.seen import PHONE, is_accessible

FITS = """
    [...document.querySelectorAll("dialog")].every(one => one.scrollWidth <= one.clientWidth)
    && document.documentElement.scrollWidth <= innerWidth
"""


def test_what_will_happen_stands_beside_what_would(open_page: Open, url: str) -> None:
    page = open_page(url, **PHONE)
    page.get_by_role("button", name="Simulate", exact=True).click()
    dialog = page.get_by_role("dialog", name="Simulate")
    # As it is
    dialog.get_by_role("button", name="Simulate").click()
    table = dialog.get_by_role("table")
    expect(table.get_by_role("columnheader", name="As it is")).to_be_visible()
    expect(table.get_by_role("rowheader", name="Starts", exact=True)).to_be_visible()
    # And with a limit
    dialog.get_by_label("Limit this action").fill("charge")
    dialog.get_by_label("Attempts at a time").fill("0")
    dialog.get_by_role("button", name="Simulate").click()
    expect(table.get_by_role("columnheader", name="With the changes")).to_be_visible()
    assert page.evaluate(FITS)
    is_accessible(page)


def test_a_history_is_shown_in_the_panel(open_page: Open, url: str) -> None:
    page = open_page(f"{url}#task=sale-50")
    panel = page.get_by_role("dialog", name="sale-50")
    panel.get_by_role("button", name="Show the history").click()
    expect(panel.get_by_role("cell", name="add", exact=True)).to_be_visible()
