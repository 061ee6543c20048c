"""The page of recurring tasks."""

import re
from datetime import date, timedelta

import pytest
from playwright.sync_api import Locator, Page, expect

from duebell import Calendar, Status
from duebell_shared.instants import utc_now
from tests.page.conftest import Open
from tests.page.reader import field, has_focus, is_accessible, is_for_everyone, press, says
from tests.page.scene import Scene
from tests.support import in_a_thread


@pytest.fixture
def furnished(scene: Scene) -> Scene:
    """Recurring tasks: one that fails, one in another zone, one that is paused."""
    now = utc_now()
    scene.kept_up(
        "billing",
        "rate(30 minutes)",
        since=now - timedelta(hours=24, minutes=10),
        fails_from=now - timedelta(hours=1),
    )
    scene.editor.add("cleanup", schedule="0 3 * * *", timezone="America/New_York", id="nightly")
    scene.editor.add("poll", schedule="rate(10 minutes)", id="poll")
    scene.editor.pause("poll")
    return scene


def choose(page: Page, name: str, id: str) -> None:
    """Press this in the menu of the row."""
    press(page, f"Actions of {id}")
    press(page, f"{name} {id}")


def row(page: Page, id: str) -> Locator:
    return page.locator(f'#list tr[data-id="{id}"]')


def test_recurring_tasks_are_shown_with_their_times_and_how_they_went(page: Page, furnished: Scene) -> None:
    # Given the page of the tasks, when its link is followed
    page.get_by_role("link", name="Schedules").click()
    # Then those that fail come first, and paused ones last
    ids = page.locator("#list tbody tr")
    expect(ids).to_have_count(5)
    assert [one.get_attribute("data-id") for one in ids.all()] == [
        "billing", "daily-report", "nightly", "sync-stock", "poll",
    ]  # fmt: skip
    expect(page.locator("#list-note")).to_have_text("5 recurring tasks, 1 failed the last time, 1 paused.")
    # And each says what became of it
    billing = row(page, "billing")
    expect(billing).to_contain_text("2 failures in a row: GatewayTimeout: the bank's gateway did not answer")
    expect(billing.get_by_role("img", name="The last 20: 18 done, 2 failed")).to_be_visible()
    expect(billing.locator(".mark")).to_have_count(20)
    expect(billing.locator(".mark").last).to_have_class("mark failed")
    expect(billing.locator(".mark").last).to_have_attribute(
        "title", re.compile(r": failed, 2 min \d+ s late\n")
    )
    # And when it runs next, by both clocks
    expect(row(page, "nightly").locator(".next")).to_contain_text("03:00 America/New_York")
    expect(row(page, "nightly").locator(".next time").first).to_have_text(re.compile(r" 0[89]:00|10:00"))
    expect(row(page, "nightly").locator(".last")).to_have_text("never ran")
    expect(row(page, "daily-report").locator(".next")).not_to_contain_text("Europe/Berlin")
    expect(row(page, "poll").locator(".next")).to_have_text("paused")
    is_for_everyone(page)


def test_a_recurring_task_is_paused_resumed_and_run(open_page: Open, url: str, furnished: Scene) -> None:
    page = open_page(f"{url}schedules")
    choose(page, "Pause", "nightly")
    expect(row(page, "nightly").locator(".next")).to_have_text("paused")
    assert furnished.editor.get("nightly").status is Status.PAUSED
    # The focus stays where the reader was
    expect(page.get_by_role("button", name="Actions of nightly")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Resume nightly")).to_be_focused()
    is_accessible(page)
    page.keyboard.press("Enter")
    expect(row(page, "nightly").locator(".next")).to_contain_text("America/New_York")
    choose(page, "Run now", "nightly")
    expect(page.get_by_text("nightly runs in the next minute or two")).to_be_visible()
    recurrence = furnished.editor.get("nightly").recurrence
    assert recurrence
    assert recurrence.origin == "extra"
    assert has_focus(page)


def test_an_open_menu_stays_open_while_other_rows_come(open_page: Open, url: str, furnished: Scene) -> None:
    page = open_page(f"{url}schedules")
    press(page, "Actions of nightly")
    expect(page.get_by_role("button", name="Pause nightly")).to_be_focused()
    # When the list is read again, and has a row more
    furnished.editor.add("cleanup", schedule="0 4 * * *", id="cleanup-at-four")
    page.evaluate("dispatchEvent(new Event('hashchange'))")
    expect(row(page, "cleanup-at-four")).to_be_visible()
    # Then the menu is as it was
    expect(page.get_by_role("button", name="Backfill nightly")).to_be_visible()
    expect(page.get_by_role("button", name="Pause nightly")).to_be_focused()


def test_several_recurring_tasks_are_paused_at_once(open_page: Open, url: str, furnished: Scene) -> None:
    page = open_page(f"{url}schedules")
    for id in ("nightly", "sync-stock"):
        page.get_by_label(f"Select {id}").check()
    page.locator("#bulk").get_by_role("button", name="Pause").click()
    press(page, "Pause 2 tasks")
    expect(page.get_by_text("2 tasks paused", exact=True)).to_be_visible()
    expect(row(page, "nightly").locator(".next")).to_have_text("paused")
    statuses = [furnished.editor.get(id).status for id in ("nightly", "sync-stock", "billing")]
    assert statuses == [Status.PAUSED, Status.PAUSED, Status.SCHEDULED]
    expect(page.locator("#bulk")).to_be_hidden()
    press(page, "Undo")
    expect(row(page, "nightly").locator(".next")).to_contain_text("America/New_York")


def test_a_backfill_is_counted_before_it_is_added(open_page: Open, url: str, scene: Scene) -> None:
    # Given a recurring task with days behind it
    begun = utc_now() - timedelta(days=9)
    scene.editor.add("cleanup", schedule="0 3 * * *", start=begun, id="nightly")
    page = open_page(f"{url}schedules")
    # When a range of it is counted
    press(page, "Actions of nightly")
    press(page, "Backfill nightly")
    for name, days in (("start", 5), ("end", 2)):
        field(page, name).fill(f"{utc_now() - timedelta(days=days):%Y-%m-%d}T12:00")
    press(page, "Count")
    expect(page.get_by_role("button", name="Add 3 tasks")).to_be_visible()
    assert not scene.editor.find("nightly@").tasks
    # Then they are added at the second press
    press(page, "Add 3 tasks")
    expect(page.get_by_role("dialog")).not_to_be_visible()
    assert len(scene.editor.find("nightly@").tasks) == 3


def test_schedules_are_found_by_their_ids(open_page: Open, url: str, furnished: Scene) -> None:
    for number in range(120):
        furnished.editor.add("poll", schedule="rate(1 hour)", id=f"many-{number:03}")
    page = open_page(f"{url}schedules")
    rows = page.locator("#list tbody tr")
    expect(rows).to_have_count(100)
    press(page, "Show more")
    expect(rows).to_have_count(125)
    expect(page.locator("#list-note")).to_contain_text("125 recurring tasks, ")
    page.get_by_label("Id starts with").fill("many-01")
    expect(rows).to_have_count(10)
    # And a link leads to them
    again = open_page(page.url)
    expect(again.locator("#list tbody tr")).to_have_count(10)
    page.get_by_label("Id starts with").fill("none")
    expect(page.get_by_text("No recurring task has such an id.")).to_be_visible()


def test_a_calendar_is_listed_and_the_form_tells_skips(open_page: Open, url: str, furnished: Scene) -> None:
    tomorrow = utc_now().date() + timedelta(days=1)
    ends = date(tomorrow.year + 3, 12, 31)
    calendar = Calendar(days={tomorrow: "A day off"}, ends=ends)
    in_a_thread(lambda: furnished.editor.import_calendar("de", calendar))
    page = open_page(f"{url}schedules")
    expect(page.get_by_text(f"Calendars of holidays: de until {ends}.")).to_be_visible()
    press(page, "Add a task")
    page.get_by_label("Recurring").check()
    page.get_by_text("More", exact=True).last.click()
    for name, value in {
        "action": "act",
        "schedule": "0 12 * * *",
        "timezone": "UTC",
        "calendar": "de",
    }.items():
        field(page, name).fill(value)
    says(page.locator(".recurring .preview"), "A day off: ", " is skipped")
    field(page, "holidays").select_option("next")
    expect(page.locator(".recurring .preview")).to_contain_text(" is moved to ")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    [task] = [one for one in furnished.editor.schedules().tasks if one.action == "act"]
    assert task.recurrence
    assert (task.recurrence.schedule.calendar, task.recurrence.schedule.holidays) == ("de", "next")
