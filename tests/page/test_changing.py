"""Changing things on the page, what changes elsewhere, and buttons under quick fingers."""

from datetime import UTC, datetime, timedelta
from typing import Any

from playwright.sync_api import Page, expect

from duebell_shared.instants import utc_now
from duebell_shared.tasks.status import Status
from tests.page.conftest import Open
from tests.page.hands import field, fill, press, show, tab
from tests.page.scene import Scene
from tests.page.seen import Held, asked
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


def test_pause_resume_move_and_run_now(page: Page, scene: Scene) -> None:
    show(page, "sale-50")
    press(page, "Pause")
    expect(page.get_by_role("dialog").get_by_text("paused", exact=True)).to_be_visible()
    press(page, "Resume")
    expect(page.get_by_role("dialog").get_by_text("scheduled", exact=True)).to_be_visible()
    press(page, "Move")
    page.get_by_label("Due (Europe/Berlin)").fill("2030-01-02T03:04:05")
    page.get_by_role("dialog", name="Move sale-50").get_by_role("button", name="Move", exact=True).click()
    expect(page.get_by_text("sale-50 is now due")).to_be_visible()
    assert scene.editor.get("sale-50").due.isoformat() == "2030-01-02T02:04:05+00:00"
    press(page, "Run now", then="sale-50 runs in the next minute or two")
    assert scene.editor.get("sale-50").due <= utc_now()


def test_many_are_changed_at_once_when_that_is_confirmed(page: Page, scene: Scene) -> None:
    page.get_by_label("Search", exact=True).fill("trial-")
    expect(page.locator("#list tbody tr")).to_have_count(30)
    page.get_by_label("Select all that are shown").check()
    press(page, "Pause")
    press(page, "Pause 30 tasks", then="30 tasks paused")
    assert len(scene.editor.list(status="paused").tasks) == 31
    press(page, "Undo", then="30 tasks resumed")
    assert len(scene.editor.list(status="paused").tasks) == 1


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
