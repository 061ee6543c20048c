"""The page offers the server's time zones, and says when the worker has others."""

from playwright.sync_api import Page, expect

from duebell_shared.schedules.zones import zone_names
from tests.page.hands import open_form


def test_the_form_offers_the_time_zones_of_the_server(page: Page) -> None:
    open_form(page)
    expect(page.locator("#zones option")).to_have_count(len(zone_names()))
    names = page.locator("#zones option").evaluate_all("options => options.map(({ value }) => value)")
    assert names == sorted(zone_names())
