"""Changing things on the page, what others change meanwhile, and the messages by which it is undone."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from duebell_shared.tasks.status import Status
from tests.page.conftest import Open
from tests.page.reader import (
    PHONE,
    Held,
    asked,
    box,
    field,
    fill,
    has_focus,
    open_form,
    press,
    says,
    show,
    tab,
)
from tests.page.scene import Scene
from tests.serving import serving


def test_a_task_is_added_and_can_be_taken_back(page: Page, scene: Scene) -> None:
    requests = asked(page, "")
    press(page, "Add a task")
    page.get_by_label("Action").last.fill("greet")
    press(page, "In an hour")
    page.get_by_label("Payload (JSON)", exact=True).fill('{"n": 12345678901234567890, "x": 1.0}')
    page.get_by_text("More", exact=True).click()
    page.get_by_label("Id", exact=True).last.fill("hello world/1")
    press(page, "Add", then="hello world/1 is added")
    expect(page.locator("#list").get_by_text("hello world/1")).to_be_visible()
    assert scene.editor.get("hello world/1").payload == {"n": 12345678901234567890, "x": 1.0}
    # And its payload was in no address
    assert requests
    assert not any("12345678901234567890" in one for one in [*requests, page.url])
    press(page, "Undo")
    expect(page.locator("#list").get_by_text("hello world/1")).to_be_hidden()
    assert scene.editor.get("hello world/1").status is Status.CANCELLED


def test_a_recurring_task_is_added_with_its_meaning_said(page: Page, scene: Scene) -> None:
    press(page, "Add a task")
    page.get_by_label("Action").last.fill("greet")
    page.get_by_label("Recurring").check()
    page.locator("[name=schedule]").fill("0 9 31 2 *")
    expect(page.get_by_text("never comes before")).to_be_visible()
    press(page, "Weekdays at 9", then="every weekday at 09:00, Europe/Berlin")
    expect(page.locator(".preview li")).to_have_count(5)
    page.get_by_text("More", exact=True).click()
    page.get_by_label("Id", exact=True).last.fill("greeting")
    page.get_by_label("Missed runs").select_option("skip")
    press(page, "Add")
    expect(page.locator("#list").get_by_text("greeting")).to_be_visible()
    recurrence = scene.editor.get("greeting").recurrence
    assert recurrence
    assert (recurrence.missed, recurrence.schedule.timezone) == ("skip", "Europe/Berlin")


def test_an_edit_takes_away_what_is_emptied_and_can_be_undone(page: Page, scene: Scene) -> None:
    # Given a recurring task with limits
    limits: Any = {"end": datetime(2030, 1, 1, tzinfo=UTC), "max_runs": 9, "spread": timedelta(minutes=1)}
    before = scene.editor.update("sync-stock", **limits)
    show(page, "sync-stock")
    press(page, "Edit")
    page.get_by_text("More", exact=True).click()
    # When they are emptied, then they are gone, and the schedule counts on from where it did
    for name in limits:
        expect(field(page, name)).not_to_have_value("")
    fill(page, **dict.fromkeys(limits, ""))
    press(page, "Save", then="sync-stock is changed")
    after = scene.editor.get("sync-stock")
    assert before.recurrence
    assert after.recurrence
    assert after.spread == timedelta(0)
    assert (after.recurrence.schedule.end, after.recurrence.max_runs) == (None, None)
    assert after.recurrence.schedule.start == before.recurrence.schedule.start
    # And there again, if the reader thinks better of it
    press(page, "Undo", then="Undone")
    undone = scene.editor.get("sync-stock")
    assert undone.recurrence
    assert undone.recurrence.schedule == before.recurrence.schedule
    assert (undone.recurrence.max_runs, undone.spread, undone.due) == (9, before.spread, before.due)


def test_bulk_shows_how_far_it_is_and_can_be_stopped(open_page: Open) -> None:
    # Given more than are changed at a time
    scene = Scene()
    scene.fill(249)
    with serving(scene.editor) as url:
        page = open_page(url)
        rows = page.locator("#list tbody tr")
        expect(rows).to_have_count(50)
        page.get_by_label("Select all that are shown").check()
        press(page, "Select all that fit the filters")
        press(page, "Pause", then="250 tasks will be paused")
        sent = asked(page, "/api/bulk")
        held = Held(page, "**/api/bulk")
        press(page, "Pause 250 tasks")
        # Then it is said, and after the part under way it stops
        expect(page.get_by_role("progressbar")).to_be_visible()
        expect(page.get_by_text("0 of 250")).to_be_visible()
        press(page, "Stop")
        held.let_go()
        expect(page.get_by_text("100 tasks paused, then stopped")).to_be_visible()
        expect(page.get_by_role("progressbar")).to_have_count(0)
        assert len(sent) == 1
        expect(tab(page, "In the queue")).to_contain_text("150")
        # And what was done can be undone
        press(page, "Undo", then="100 tasks resumed")


def test_the_second_click_is_not_for_what_came_to_stand_there(open_page: Open, url: str) -> None:
    page = open_page(f"{url}#task=mail-003")
    # Given a double click, between the halves of which the answer comes
    page.get_by_role("button", name="Retry", exact=True).hover()
    page.mouse.down(click_count=1)
    page.mouse.up(click_count=1)
    actions = page.get_by_role("dialog").locator(".actions")
    expect(actions.get_by_role("button", name="Run now")).to_be_enabled()
    page.mouse.down(click_count=2)
    page.mouse.up(click_count=2)
    # Then the button that has taken the place is not pressed, until it is meant
    expect(page.get_by_role("dialog")).to_have_count(1)
    page.mouse.down()
    page.mouse.up()
    expect(page.get_by_role("dialog")).to_have_count(2)


def test_buttons_wait_for_the_answer(page: Page, scene: Scene) -> None:
    # Given an answer that takes its time
    show(page, "sale-50")
    sent, held = asked(page, "/tasks/sale-50/pause"), Held(page, "**/tasks/sale-50/pause")
    actions = page.get_by_role("dialog").locator(".actions")
    pause = actions.get_by_role("button", name="Pause", exact=True)
    # When Pause is pressed, by the keyboard
    pause.press("Enter")
    # Then the whole group is busy, and no other key or click does anything
    expect(actions).to_have_attribute("aria-busy", "true")
    expect(actions.get_by_role("button", disabled=True)).to_have_count(actions.locator("button").count())
    expect(pause).to_be_focused()
    pause.press("Enter")
    for name in ("Cancel", "Edit"):
        actions.get_by_role("button", name=name).click(force=True)
    expect(page.get_by_role("dialog")).to_have_count(1)
    assert len(sent) == 1
    held.let_go()
    expect(page.get_by_text("sale-50 is paused")).to_be_visible()
    expect(actions).to_have_attribute("aria-busy", "false")
    assert scene.editor.get("sale-50").status is Status.PAUSED


def test_a_form_is_sent_once(page: Page) -> None:
    sent, held = asked(page, "/api/tasks"), Held(page, "**/api/tasks")
    page.locator("#add").click()
    field(page, "action").fill("greet")
    field(page, "action").press("Enter")
    expect(page.get_by_role("button", name="Add", exact=True)).to_be_disabled()
    field(page, "action").press("Enter")
    page.get_by_role("button", name="Add", exact=True).click(force=True)
    assert len([one for one in sent if one.endswith("/api/tasks")]) == 1
    held.let_go()
    expect(page.get_by_text("is added")).to_be_visible()


def row(page: Page, name: str) -> Locator:
    return page.locator(".clash tbody tr").filter(has=page.get_by_role("rowheader", name=name, exact=True))


def edit(page: Page, id: str) -> None:
    show(page, id)
    press(page, "Edit")


def test_what_another_changes_shows_up_while_one_writes(page: Page, scene: Scene) -> None:
    # Given someone who writes
    edit(page, "sale-45")
    field(page, "payload").fill('{"item": "mine"}')
    # When someone else changes the task
    scene.editor.update("sale-45", payload={"item": "theirs"}, action="sell")
    # Then it is said at once, field by field, and the writing goes on
    expect(page.get_by_text("was changed while you had it open")).to_be_visible()
    expect(row(page, "Payload").locator("td").nth(0)).to_contain_text("theirs")
    expect(row(page, "Payload").locator("td").nth(1)).to_contain_text("mine")
    says(row(page, "Action"), "sell", "not changed by you")
    expect(field(page, "payload")).to_be_focused()
    expect(field(page, "payload")).to_have_value('{"item": "mine"}')
    field(page, "payload").fill('{"item": "still mine"}')
    expect(row(page, "Payload").locator("td").nth(1)).to_contain_text("still mine")
    # And Keep mine writes what was changed here, and nothing else
    press(page, "Keep mine", then="sale-45 is changed")
    after = scene.editor.get("sale-45")
    assert (after.payload, after.action) == ({"item": "still mine"}, "sell")
    # And Undo goes back to theirs
    press(page, "Undo", then="Undone")
    assert scene.editor.get("sale-45").payload == {"item": "theirs"}


def test_a_change_that_comes_too_late_writes_nothing_until_the_reader_decides(
    open_page: Open, url: str, scene: Scene
) -> None:
    # Given a page that does not hear of changes, and a change elsewhere
    page = open_page("about:blank")
    page.route("**/api/changes*", lambda route: route.abort())
    page.goto(url)
    edit(page, "sale-45")
    field(page, "payload").fill('{"item": "mine"}')
    theirs = scene.editor.update("sale-45", payload={"item": "theirs"})
    # When it is saved
    press(page, "Save")
    # Then it is said, and has the focus
    expect(page.get_by_text("Nothing of yours is saved yet")).to_be_focused()
    assert scene.editor.get("sale-45").rev == theirs.rev
    expect(field(page, "payload")).to_have_value('{"item": "mine"}')
    # And when theirs is taken, nothing is left to save
    press(page, "Take theirs", then="nothing of yours was written")
    expect(page.get_by_role("dialog", name="Edit sale-45")).to_be_hidden()
    assert scene.editor.get("sale-45").rev == theirs.rev
    # And the focus is where it came from
    expect(page.get_by_role("button", name="Edit", exact=True)).to_be_focused()


def test_taking_theirs_leaves_what_else_was_typed(page: Page, scene: Scene) -> None:
    edit(page, "sale-45")
    fill(page, payload='{"item": "mine"}', action="my_action")
    scene.editor.update("sale-45", payload={"item": "theirs"})
    press(page, "Take theirs")
    # Theirs is in the form, and what they did not change is ours
    expect(field(page, "payload")).to_have_value('{\n  "item": "theirs"\n}')
    expect(field(page, "action")).to_have_value("my_action")
    press(page, "Save", then="sale-45 is changed")
    after = scene.editor.get("sale-45")
    assert (after.payload, after.action) == ({"item": "theirs"}, "my_action")


def test_what_is_over_cannot_be_written_any_more(page: Page, scene: Scene) -> None:
    edit(page, "sale-45")
    field(page, "payload").fill('{"item": "mine"}')
    scene.editor.cancel("sale-45")
    expect(page.get_by_text("This task is cancelled now, and cannot be changed any more")).to_be_visible()
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_hidden()
    expect(field(page, "payload")).to_have_value('{"item": "mine"}')


def test_a_move_of_what_was_changed_meanwhile_is_asked_for_again(page: Page, scene: Scene) -> None:
    show(page, "sale-50")
    press(page, "Move")
    field(page, "due").fill("2030-01-02T03:04:05")
    theirs = scene.editor.move("sale-50", due=timedelta(days=3))
    move = page.get_by_role("dialog", name="Move").get_by_role("button", name="Move", exact=True)
    move.click()
    expect(page.get_by_text("was changed meanwhile, and is not moved")).to_be_visible()
    assert scene.editor.get("sale-50").due == theirs.due
    move.click()
    expect(page.get_by_text("is now due 2 Jan 2030 03:04")).to_be_visible()


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
