"""The short messages: where they are, how long they stay, and that what they tell of can be undone."""

import re
from datetime import timedelta

from playwright.sync_api import Page, Route, expect

from duebell_shared.tasks.status import Status
from tests.page.conftest import Open
from tests.page.hands import field, has_focus, open_form, press, show
from tests.page.scene import Scene
from tests.page.seen import PHONE, box


def test_the_newest_change_is_undone_by_the_keyboard(page: Page, scene: Scene) -> None:
    show(page, "sale-50")
    page.get_by_role("button", name="Pause", exact=True).press("Enter")
    expect(page.get_by_role("status").get_by_text("Ctrl+Z")).to_be_visible()
    page.keyboard.press("Control+Z")
    expect(page.get_by_text("Undone")).to_be_visible()
    expect(page.get_by_role("dialog").get_by_text("scheduled", exact=True)).to_be_visible()
    assert scene.editor.get("sale-50").status is Status.SCHEDULED
    assert has_focus(page)


def test_what_is_typed_is_undone_by_the_browser(page: Page, scene: Scene) -> None:
    show(page, "sale-50")
    press(page, "Pause", then="sale-50 is paused")
    press(page, "Edit")
    field(page, "action").fill("another")
    field(page, "action").press("Control+z")
    expect(field(page, "action")).to_have_value("put_on_sale")
    assert scene.editor.get("sale-50").status is Status.PAUSED
    # And the message is in the form's foot, where it covers nothing
    toast, actions = box(page.locator(".toast")), box(page.locator(".foot .actions"))
    assert toast["y"] + toast["height"] <= actions["y"]


def test_no_more_than_two_messages_are_there_at_a_time(page: Page) -> None:
    toasts = page.locator(".toast")
    for id in ("sale-50", "sale-51", "sale-52"):
        page.keyboard.press("Escape")
        show(page, id)
        press(page, "Pause")
        expect(toasts.last).to_contain_text(f"{id} is paused")
    expect(toasts).to_have_text([re.compile("sale-51"), re.compile("sale-52")])
    # And of the same task, only what is so now; the key is said beside what it undoes
    press(page, "Resume")
    expect(toasts).to_have_text([re.compile("sale-51 is paused"), re.compile("sale-52 is back")])
    expect(page.locator(".toast kbd").locator("visible=true")).to_have_count(1)


def test_messages_cover_nothing_of_the_panel(open_page: Open, url: str) -> None:
    page = open_page(url, **PHONE)
    show(page, "daily-report")
    press(page, "Pause")
    toast = page.locator(".toast")
    expect(toast).to_be_in_viewport(ratio=1)
    panel = page.get_by_role("dialog")
    expect(panel.get_by_role("button", name="Resume", exact=True)).to_be_visible()  # it is drawn anew
    # Within the panel, and beneath all there is in it
    panel.evaluate("panel => panel.scrollTo(0, panel.scrollHeight)")
    within, last, it = box(panel), box(panel.locator(".body")), box(toast)
    assert within["x"] <= it["x"]
    assert it["x"] + it["width"] <= within["x"] + within["width"]
    assert last["y"] + last["height"] <= it["y"]


def test_an_undone_cancel_gives_all_back_and_takes_nobodys_place(
    open_page: Open, url: str, scene: Scene
) -> None:
    scene.editor.add("x", due=timedelta(days=1), payload="mine", priority=9, id="taken")
    page = open_page(f"{url}#task=taken")
    press(page, "Cancel")
    page.get_by_role("button", name="Undo").last.click()
    expect(page.get_by_text("Undone")).to_be_visible()
    assert (scene.editor.get("taken").priority, scene.editor.get("taken").payload) == (9, "mine")
    # Given another that someone has put in the place of the cancelled one, then theirs stays
    press(page, "Cancel", then="taken is cancelled")
    scene.editor.add("y", due=timedelta(days=2), payload="theirs", id="taken", if_exists="replace")
    page.get_by_role("button", name="Undo").last.click()
    expect(page.get_by_text("This cannot be undone: taken was changed since")).to_be_visible()
    assert scene.editor.get("taken").payload == "theirs"


def test_a_task_whose_answer_was_lost_is_added_once(page: Page, scene: Scene) -> None:
    # Given a server whose answer to the first try never arrives
    tries: list[str] = []

    def lose_the_first(route: Route) -> None:
        tries.append(route.request.method)
        if len(tries) > 1:
            route.continue_()
        else:
            route.fetch()
            route.abort()

    page.route("**/api/tasks", lose_the_first)
    open_form(page)
    press(page, "Add")
    expect(page.get_by_text("The server does not answer").last).to_be_visible()
    # When it is sent again, then there is one
    press(page, "Add", then="is added")
    assert len(tries) == 2
    assert len(scene.editor.list(action="greet").tasks) == 1
