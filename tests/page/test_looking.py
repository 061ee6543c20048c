"""Looking at the page: what it costs, that everyone can, and what is said when there is nothing to show."""

from datetime import timedelta
from pathlib import Path
from unittest import mock

import pytest
from playwright.sync_api import Page, expect

from duebell import AwsUnavailable
from tests.page.conftest import Open
from tests.page.reader import PHONE, asked, box, is_accessible, is_for_everyone, tab
from tests.page.scene import Scene
from tests.serving import serving


def test_a_first_look_at_a_hundred_thousand_tasks_is_seven_calls_and_no_walk(open_page: Open) -> None:
    scene = Scene()
    scene.fill(100_000)
    with serving(scene.editor) as url:
        scene.store.keys_read = 0
        page = open_page("about:blank")
        requests = asked(page, "")
        page.goto(url)
        expect(page.locator("#list tbody tr")).to_have_count(50)
        expect(page.locator("#chart button")).to_have_count(48)
        expect(page.locator("#chart-note")).to_contain_text("to run")
        page.wait_for_timeout(1000)
        calls = [one for one in requests if "/api/" in one]
        # The list twice: first, and again when the stream is ready
        assert len(calls) <= 7, calls
        # Bounds of the keys that are read. The chart: 3,200 of each of 4 lanes, and 200 of each for either
        # end. The status: 1,000 of each lane, twice. The list and the stream: 500.
        assert scene.store.keys_read <= 12_800 + 2 * 4 * 200 + 2 * 4 * 1_000 + 500
        # And the month, which has more tasks than that, shows an estimate at no higher cost
        scene.store.keys_read = 0
        page.get_by_role("button", name="Month").click()
        expect(page.locator("#chart-note")).to_contain_text("about ")
        assert scene.store.keys_read <= 12_800 + 4 * 200
        assert all(url in one for one in requests)


def test_times_are_the_viewers_and_utc_is_at_hand(open_page: Open, url: str, scene: Scene) -> None:
    scene.editor.add("x", due=scene.editor.get("sale-45").due.replace(year=2030, month=7, day=1), id="summer")
    due = scene.editor.get("summer").due
    page = open_page(url, timezone_id="Asia/Kolkata")
    page.goto(f"{url}#task=summer")
    shown = page.get_by_role("dialog").locator("time").first
    local = due + timedelta(hours=5, minutes=30)
    expect(shown).to_contain_text(f"{local:%H:%M}")
    title = shown.get_attribute("title") or ""
    assert "Asia/" in title
    assert f"{due:%Y-%m-%d %H:%M}" in title


def test_everything_can_be_done_with_the_keyboard(page: Page, scene: Scene) -> None:
    expect(page.locator("#list tbody tr").first).to_be_visible()
    # The first stop leads past what is before the tasks
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the tasks")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#tasks")).to_be_focused()
    # From there, over the filters and the boxes, to the first task
    for _ in range(16):
        page.keyboard.press("Tab")
    id = page.locator("#list tbody button.link").first
    expect(id).to_be_focused()
    page.keyboard.press("Enter")
    panel = page.get_by_role("dialog")
    expect(panel).to_be_visible()
    # The panel keeps the focus, and gives it back
    panel.get_by_role("button", name="Pause").focus()
    page.keyboard.press("Enter")
    expect(panel.get_by_text("paused", exact=True)).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    # The timeline is one stop, and arrows move in it
    first = page.locator("#chart button").first
    first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    expect(page.locator("#chart button").last).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_label("When")).to_have_value("between")


def test_everyone_can_use_it(page: Page, url: str) -> None:
    expect(page.locator("#list tbody tr").first).to_be_visible()
    is_for_everyone(page)
    page.get_by_role("button", name="Check everything").click()
    page.get_by_role("button", name="Month", exact=True).click()
    expect(page.locator("#chart-note")).to_contain_text("failed")
    tab(page, "Failed").click()
    page.get_by_label("Select mail-003").check()
    is_for_everyone(page)
    page.get_by_role("button", name="mail-003", exact=True).click()
    expect(page.get_by_role("dialog").get_by_text("CardDeclined", exact=True).first).to_be_visible()
    is_for_everyone(page)
    page.keyboard.press("Escape")
    page.locator("#add").click()
    page.get_by_label("Recurring").check()
    page.get_by_text("More", exact=True).click()
    page.get_by_role("button", name="Daily at 9").click()
    expect(page.locator(".preview li")).to_have_count(5)
    is_for_everyone(page)
    page.goto(f"{url}docs")
    expect(page.get_by_role("heading", name="Add a task")).to_be_visible()
    is_for_everyone(page)


def test_fingers_hit_what_they_mean(open_page: Open, url: str) -> None:
    page = open_page(url, **PHONE)
    expect(page.locator("#list tbody tr").first).to_be_visible()
    # Then whatever is pressed is large enough
    for which in ("button:not(.link, .column)", "#filters select", "#filters input", "#list tbody td.pick"):
        shown = page.locator(which).locator("visible=true").all()
        assert shown
        assert min(min(box(one)["width"], box(one)["height"]) for one in shown) >= 40, which
    # And a box is ticked from beside it
    cell = page.locator("#list tbody td.pick").nth(2)
    cell.click(position={"x": box(cell)["width"] - 3, "y": box(cell)["height"] - 3})
    expect(cell.get_by_role("checkbox")).to_be_checked()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_when_aws_does_not_answer_that_is_said_and_tried_again(open_page: Open, scene: Scene) -> None:
    trouble = AwsUnavailable("DynamoDB does not answer")
    with serving(scene.editor) as url:
        with mock.patch.object(scene.store, "read_record", side_effect=trouble):
            page = open_page(url)
            again = page.locator("#rule").get_by_role("button", name="Try again")
            expect(again).to_be_visible()
            expect(page.get_by_role("alert")).to_contain_text("DynamoDB does not answer")
        again.click()
        expect(page.locator("#list tbody tr").first).to_be_visible()
        expect(page.get_by_role("alert")).to_be_hidden()


def test_what_comes_from_tasks_is_never_markup(open_page: Open, scene: Scene, tmp_path: Path) -> None:
    evil = "<img src=x onerror=alert(1)>"
    scene.editor.add(evil, due=timedelta(minutes=1), id=evil, payload={evil: evil})
    with serving(scene.editor) as url:
        page = open_page(url)
        page.on("dialog", lambda dialog: pytest.fail("a script of a task ran"))
        page.get_by_role("button", name=evil, exact=True).click()
        expect(page.get_by_role("dialog").get_by_text(evil).first).to_be_visible()
        assert page.locator("img[src=x]").count() == 0


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


def test_a_page_that_gets_no_stream_asks_instead(open_page: Open, scene: Scene) -> None:
    with serving(scene.editor) as url:
        page = open_page("about:blank")
        page.route("**/api/changes*", lambda route: route.fulfill(status=503))
        page.goto(url)
        expect(page.get_by_role("button", name="sale-50", exact=True)).to_be_visible()
        scene.editor.add("x", due=timedelta(minutes=1), id="added-elsewhere")
        expect(page.get_by_role("button", name="added-elsewhere")).to_be_visible()
        expect(page.locator("#alert")).to_be_hidden()
