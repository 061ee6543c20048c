"""The page of a server that only shows the queue: it says so, and offers nothing that would be refused."""

import re
from datetime import timedelta

from playwright.sync_api import Page, expect

from duebell import Editor
from tests.page.conftest import Open
from tests.page.hands import press, show
from tests.page.scene import Scene
from tests.page.seen import PHONE, fits, is_accessible
from tests.serving import serving

#: Whatever changes something, by the words on its button.
CHANGING = (
    "Add a task",
    "Edit",
    "Move",
    "Pause",
    "Resume",
    "Run now",
    "Retry",
    "Cancel",
    "Add again",
    "Set the rule",
)


def expect_no_changes(page: Page) -> None:
    for name in CHANGING:
        # With a count, such as "Retry 6", but not the tab of what is paused or cancelled
        expect(page.get_by_role("button", name=re.compile(rf"^{name}( \d|$)"))).to_have_count(0)
    expect(page.get_by_role("checkbox")).to_have_count(0)


def test_nothing_is_offered_that_would_be_refused(open_page: Open, scene: Scene) -> None:
    # Given tasks in every state, and a rule that could be mended
    scene.editor.add("x", due=timedelta(days=-1), id="over")
    scene.events.rule["ScheduleExpression"] = "cron(0 0 1 1 ? 2030)"
    with serving(scene.editor, read_only=True) as url:
        page = open_page(url, **PHONE)
        # It says so
        expect(page.locator("#read-only")).to_be_visible()
        expect(page.locator("#read-only")).to_contain_text("Read-only")
        expect(page.locator("#list")).to_be_visible()
        expect_no_changes(page)
        # And tasks can be looked at, with nothing to press
        for id in ("sale-50", "remind-7", "mail-003", "daily-report"):
            page.goto(f"{url}#task={id}")
            expect(page.get_by_role("heading", name="Details")).to_be_visible()
            expect_no_changes(page)
            page.keyboard.press("Escape")
        # And the doctor can be asked
        press(page, "Check everything", then="Everything checked at")
        expect(page.locator("#problems li")).not_to_have_count(0)
        fits(page)
        is_accessible(page)
        expect_no_changes(page)


def test_the_panel_says_who_changed_a_task(open_page: Open, url: str, scene: Scene) -> None:
    editor: Editor = scene.editor
    editor.acting_as("<b>anna</b>").update("sale-50", payload={"n": 1})
    page = open_page(url)
    show(page, "sale-50")
    panel = page.get_by_role("dialog", name="sale-50")
    expect(panel.locator("dl div").filter(has_text="Last changed by")).to_contain_text("<b>anna</b>")
    # And of one that nobody knows of, nothing
    page.keyboard.press("Escape")
    show(page, "sale-51")
    expect(page.get_by_role("heading", name="Details")).to_be_visible()
    expect(page.get_by_text("Last changed by")).to_have_count(0)
    # And what is changed here is changed by HTTP
    press(page, "Pause")
    expect(page.locator("dl div").filter(has_text="Last changed by")).to_contain_text("http")


def test_a_page_that_gets_no_stream_asks_instead(open_page: Open, scene: Scene) -> None:
    with serving(scene.editor) as url:
        page = open_page("about:blank")
        page.route("**/api/changes*", lambda route: route.fulfill(status=503))
        page.goto(url)
        expect(page.get_by_role("button", name="sale-50", exact=True)).to_be_visible()
        scene.editor.add("x", due=timedelta(minutes=1), id="added-elsewhere")
        expect(page.get_by_role("button", name="added-elsewhere")).to_be_visible()
        expect(page.locator("#alert")).to_be_hidden()
