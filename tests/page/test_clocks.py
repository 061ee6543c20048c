"""Times by the viewer's own clock, which is set back in autumn and forward in spring."""

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import Open
from tests.page.hands import field, open_form, press, show, wrong
from tests.page.scene import Scene

#: 02:30 in Berlin, for the second time that night.
SECOND = datetime(2027, 10, 31, 1, 30, tzinfo=UTC)
FIRST = SECOND - timedelta(hours=1)
CEST, CET = "02:30 CEST (UTC+2)", "02:30 CET (UTC+1)"


def send_move(page: Page) -> None:
    page.get_by_role("dialog", name="Move").get_by_role("button", name="Move", exact=True).click()
    expect(page.get_by_role("dialog", name="Move")).to_be_hidden()


@pytest.mark.parametrize("due", [SECOND, datetime(2027, 6, 1, 7, 8, 9, 123000, tzinfo=UTC)])
def test_a_move_that_changes_nothing_keeps_the_very_instant(
    open_page: Open, url: str, scene: Scene, due: datetime
) -> None:
    scene.editor.add("x", due=due, id="night")
    page = open_page(f"{url}#task=night")
    press(page, "Move")
    send_move(page)
    assert scene.editor.get("night").due == due


def test_of_an_hour_that_comes_twice_the_reader_chooses_which(page: Page, scene: Scene) -> None:
    # Given a time that comes twice
    show(page, "sale-50")
    press(page, "Move")
    field(page, "due").fill("2027-10-31T02:30:00")
    # Then the first is meant until the other is chosen
    expect(page.get_by_text("02:30 comes twice")).to_be_visible()
    expect(page.get_by_label(CEST)).to_be_checked()
    page.get_by_label(CET).check()
    send_move(page)
    assert scene.editor.get("sale-50").due == SECOND
    # And the other way round; a time that comes once asks nothing
    press(page, "Move")
    expect(page.get_by_label(CET)).to_be_checked()
    field(page, "due").fill("2027-10-31T03:30:00")
    expect(page.get_by_text("comes twice")).to_be_hidden()
    field(page, "due").fill("2027-10-31T02:30:00")
    page.get_by_label(CEST).check()
    send_move(page)
    assert scene.editor.get("sale-50").due == FIRST


def test_of_an_hour_that_does_not_come_it_is_said_what_it_becomes(page: Page, scene: Scene) -> None:
    show(page, "sale-50")
    press(page, "Move")
    field(page, "due").fill("2027-03-28T02:30:00")
    expect(page.get_by_text("there is no such time. It becomes 03:30 CEST (UTC+2).")).to_be_visible()
    send_move(page)
    assert scene.editor.get("sale-50").due == datetime(2027, 3, 28, 1, 30, tzinfo=UTC)


def test_a_year_that_no_rule_rings_in_is_not_sent(page: Page) -> None:
    open_form(page)
    field(page, "due").fill("1850-01-01T00:00:00")
    press(page, "Add")
    expect(wrong(page, "due")).to_have_text("Give a time in the years 1970 to 2199.")
    page.keyboard.press("Escape")
    press(page, "Leave")
    show(page, "sale-50")
    press(page, "Move")
    field(page, "due").fill("2250-01-01T00:00:00")
    page.get_by_role("dialog", name="Move").get_by_role("button", name="Move", exact=True).click()
    expect(wrong(page, "due")).to_have_text("Give a time in the years 1970 to 2199.")
    expect(field(page, "due")).to_be_focused()
