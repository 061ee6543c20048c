"""Times by the viewer's own clock, which is set back in autumn and forward in spring."""

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import Open
from tests.page.hands import field, press, show
from tests.page.scene import Scene

#: 02:30 in Berlin, for the second time that night.
SECOND = datetime(2027, 10, 31, 1, 30, tzinfo=UTC)
FIRST = SECOND - timedelta(hours=1)


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
    # Then nothing is said of another instant, and none is sent
    expect(page.get_by_text("comes twice")).to_have_count(0)
    send_move(page)
    assert scene.editor.get("night").due == due


@pytest.mark.parametrize(
    ("text", "told", "due"),
    [
        ("2027-10-31T02:30:00", "comes twice. The first is taken: 02:30 CEST (UTC+2).", FIRST),
        (
            "2027-03-28T02:30:00",
            "there is no such time. It becomes 03:30 CEST (UTC+2).",
            datetime(2027, 3, 28, 1, 30, tzinfo=UTC),
        ),
    ],
    ids=["twice", "never"],
)
def test_of_an_hour_that_comes_twice_or_never_it_is_said_which_is_taken(
    page: Page, scene: Scene, text: str, told: str, due: datetime
) -> None:
    show(page, "sale-50")
    press(page, "Move")
    field(page, "due").fill(text)
    expect(page.get_by_text(told)).to_be_visible()
    send_move(page)
    assert scene.editor.get("sale-50").due == due
