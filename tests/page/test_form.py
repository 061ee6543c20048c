"""The form: what is wrong is said where it is, in words for people, and nothing that was typed gets lost."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import mock

from playwright.sync_api import Page, expect

from duebell import AwsUnavailable, FollowUp, NotArmed, Then
from duebell_shared.schedules.zones import zone_names
from tests.page.conftest import Open
from tests.page.reader import PHONE, box, field, fill, is_for_everyone, open_form, press, show, wrong
from tests.page.scene import Scene

SECONDS = "Give 0.001 to 86,400 seconds (a day), or nothing for none."


def test_what_is_wrong_is_said_under_its_field_and_heard_with_it(open_page: Open, url: str) -> None:
    # Given a form with everything in it unfolded
    page = open_page(url, **PHONE)
    open_form(page)
    action = field(page, "action")
    action.fill("")
    # When it cannot be right
    press(page, "Add")
    # Then the reason is in sight, with its field, which has the focus
    expect(action).to_be_focused()
    expect(wrong(page, "action")).to_be_in_viewport()
    expect(action).to_have_accessible_description(re.compile(r"^Name the action that the worker shall run\."))
    expect(action).to_have_attribute("aria-invalid", "true")
    # And it is gone when the field is mended
    action.fill("greet")
    expect(wrong(page, "action")).to_be_hidden()
    expect(action).not_to_have_attribute("aria-invalid", "true")


def test_a_value_that_cannot_be_right_is_told_in_plain_words(page: Page, scene: Scene) -> None:
    open_form(page)
    for name, value, said in (
        ("spread", "90000", SECONDS),
        ("expires_after", "-1", "Give 0.001 to 3,155,760,000 seconds"),
        ("id", "a\u200bb", "Only printable characters can be in it."),
        ("payload", "{", "This is not JSON"),
        ("payload", '{"a": [{"b": 1, "c": {"b": 2}, "\\u0062" : 3}]}', "“b” is there twice"),
        ("due", "", "Give a day and a time."),
        ("due", "1850-01-01T00:00:00", "Give a time in the years 1970 to 2199."),
    ):
        right = field(page, name).input_value()
        field(page, name).fill(value)
        press(page, "Add")
        expect(wrong(page, name)).to_contain_text(said)
        expect(field(page, name)).to_be_focused()
        field(page, name).fill(right)
    assert not scene.editor.list(action="greet").tasks


def test_a_schedule_that_cannot_be_right_is_told_in_plain_words(page: Page) -> None:
    open_form(page)
    page.get_by_label("Recurring").check()
    field(page, "schedule").fill("0 9 * * *")
    expect(page.get_by_label("Not before (your time, Europe/Berlin)")).to_be_visible()
    cases: list[tuple[dict[str, str], str, str]] = [
        ({"max_runs": "1.5"}, "max_runs", "Give a whole number, 1 or more."),
        ({"schedule": ""}, "schedule", "Write a schedule, or choose a usual one below."),
        (
            {"start": "2030-02-01T09:00:00", "end": "2030-01-01T09:00:00"},
            "end",
            "This is before the start, 1 Feb 2030, 09:00:00.",
        ),
        # An error that only the server knows, in the reader's time
        (
            {"start": "2030-01-05T00:00:00", "end": "2030-01-05T08:00:00"},
            "end",
            "“Not after” 5 Jan 2030, 08:00:00 is before the first time, 5 Jan 2030, 09:00:00",
        ),
        ({"timezone": "Europe/Berln"}, "timezone", "did you mean Europe/Berlin?"),
    ]
    for given, name, said in cases:
        right = {one: field(page, one).input_value() for one in given}
        fill(page, **given)
        press(page, "Add")
        expect(wrong(page, name)).to_contain_text(said)
        expect(field(page, name)).to_be_focused()
        fill(page, **right)


def test_an_id_that_is_taken_is_marked_and_its_task_can_be_looked_at(page: Page, scene: Scene) -> None:
    # Given an id that another task has, in a part of the form that is folded away
    open_form(page)
    field(page, "id").fill("sale-45")
    page.get_by_text("More", exact=True).click()
    # When it is sent
    press(page, "Add")
    # Then it is unfolded and marked
    expect(wrong(page, "id")).to_have_text("This id is taken. Choose another, or open that task.")
    expect(field(page, "id")).to_be_focused()
    # And that task is shown on top, and nothing that was typed is lost
    press(page, "open that task")
    panel = page.get_by_role("dialog", name="sale-45")
    expect(panel.get_by_text("put_on_sale")).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(field(page, "action")).to_have_value("greet")
    field(page, "id").fill("sale-45-b")
    press(page, "Add", then="sale-45-b is added")


def test_what_is_about_no_field_is_said_beside_the_button(open_page: Open, url: str, scene: Scene) -> None:
    page = open_page(url, viewport={"width": 1280, "height": 500})
    open_form(page)
    with mock.patch.object(scene.store, "insert", side_effect=AwsUnavailable("DynamoDB does not answer")):
        press(page, "Add")
        said = page.get_by_role("dialog").get_by_role("alert").filter(has_text="DynamoDB does not answer")
        expect(said).to_be_in_viewport()
    press(page, "Add", then="is added")


def test_what_is_stored_is_not_sent_twice(page: Page, scene: Scene) -> None:
    open_form(page)
    with mock.patch.object(scene.editor, "add_one", side_effect=NotArmed("it is stored, but nobody rings")):
        press(page, "Add")
        expect(page.locator("#toasts").get_by_text("nobody rings")).to_be_visible()
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_a_filled_form_is_left_only_when_that_is_confirmed(page: Page) -> None:
    form = page.get_by_role("dialog", name="Add a task")
    close = form.get_by_role("button", name="Close", exact=True)
    # Given a form in which nothing was typed
    page.locator("#add").click()
    close.click()
    expect(form).to_be_hidden()
    # When something is, then it is asked
    page.locator("#add").click()
    field(page, "payload").fill('{"long": "work"}')
    close.click()
    press(page, "Go on writing")
    expect(field(page, "payload")).to_have_value('{"long": "work"}')
    close.click()
    press(page, "Leave")
    expect(form).to_be_hidden()


def test_escape_alone_never_discards_what_was_typed(page: Page) -> None:
    # The browser asks a page only as often as its reader does something else in between
    page.locator("#add").click()
    field(page, "action").fill("x")
    for _ in range(4):
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog", name="Leave without saving?")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(1)
        expect(field(page, "action")).to_have_value("x")


def test_everyone_can_tell_what_is_wrong_and_what_others_changed(page: Page, scene: Scene) -> None:
    # Given errors under the fields, an hour that comes twice and a message
    show(page, "sale-50")
    press(page, "Pause")
    expect(page.locator(".toast")).to_be_visible()
    press(page, "Edit")
    fill(page, action="", due="2027-10-31T02:30:00", payload="{")
    press(page, "Save")
    expect(wrong(page, "payload")).to_be_visible()
    is_for_everyone(page)
    # And what someone else changed
    scene.editor.update("sale-50", payload={"item": "theirs"}, action="sell")
    expect(page.locator(".clash")).to_be_visible()
    is_for_everyone(page)


def test_what_a_schedule_means_is_in_sight_in_a_low_window(open_page: Open, url: str) -> None:
    # Given a window as it is at 200 %
    page = open_page(url, viewport={"width": 640, "height": 450})
    page.locator("#add").click()
    page.get_by_label("Recurring").check()
    schedule = page.get_by_label("Schedule", exact=True)
    schedule.click()
    schedule.press_sequentially("0 9 * * MON-FRI")
    # Then what is written and what it means are both in sight
    expect(page.locator(".preview li")).to_have_count(5)
    for shown in (schedule, page.locator(".recurring .preview")):
        expect(shown).to_be_in_viewport(ratio=1)
        assert box(shown)["y"] + box(shown)["height"] <= box(page.locator(".foot"))["y"]


def test_a_task_that_is_over_is_added_again_as_it_was(open_page: Open, url: str, scene: Scene) -> None:
    # Given a task that was cancelled
    start = datetime(2030, 1, 1, tzinfo=UTC)
    given: Any = {"start": start, "max_runs": 7, "missed": "skip", "spread": timedelta(seconds=5)}
    scene.editor.add("tidy", schedule="0 4 * * *", timezone="Asia/Tokyo", id="tidy", payload=[1.0], **given)
    scene.editor.cancel("tidy")
    page = open_page(f"{url}#task=tidy")
    # When it is added again
    press(page, "Add again")
    expect(field(page, "id")).to_have_value("tidy-again")
    press(page, "Add", then="tidy-again is added")
    # Then all is as it was
    again = scene.editor.get("tidy-again")
    was = scene.editor.get("tidy")
    assert (again.action, again.payload_json, again.spread) == ("tidy", was.payload_json, was.spread)
    assert again.recurrence
    assert was.recurrence
    assert again.recurrence.schedule == was.recurrence.schedule
    assert (again.recurrence.max_runs, again.recurrence.missed) == (7, "skip")


def test_tags_are_given_found_by_and_taken_away(open_page: Open, url: str, scene: Scene) -> None:
    page = open_page(url)
    open_form(page)
    fill(page, action="greet", id="tagged", tags="red, customer:42,")
    press(page, "Add", then="tagged is added")
    assert scene.editor.get("tagged").tags == ("red", "customer:42")
    page.get_by_label("Search by").select_option("tag")
    page.get_by_label("Search", exact=True).fill("customer:42")
    expect(page.locator("#list tbody tr")).to_have_count(1)
    page = open_page(f"{url}#task=tagged")
    expect(page.get_by_text("red, customer:42")).to_be_visible()
    press(page, "Edit")
    page.get_by_text("More", exact=True).last.click()
    expect(field(page, "tags")).to_have_value("red, customer:42")
    field(page, "tags").fill("")
    press(page, "Save", then="tagged is changed")
    assert scene.editor.get("tagged").tags == ()


def test_the_form_offers_the_time_zones_of_the_server(page: Page) -> None:
    open_form(page)
    zones = page.locator("#zones option")
    expect(zones).to_have_count(len(zone_names()))
    assert zones.evaluate_all("all => all.map(({ value }) => value)") == sorted(zone_names())


def test_a_task_is_added_with_what_follows_it(open_page: Open, url: str, scene: Scene) -> None:
    # Given the form, in which what belongs to a follow-up is hidden until there is one
    page = open_page(url, **PHONE)
    open_form(page)
    fill(page, id="charge-50", on_failed="tell_support")
    expect(field(page, "then_after")).to_be_hidden()
    fill(page, then_action="send_invoice", then_after="3600")
    # When its payload is no JSON
    field(page, "then_payload").fill("{")
    press(page, "Add")
    # Then that is said, and it is added with another one, to the last digit
    expect(wrong(page, "then_payload")).to_contain_text("This is not JSON")
    expect(field(page, "then_payload")).to_be_focused()
    field(page, "then_payload").fill('{"order": 12345678901234567890}')
    press(page, "Add", then="charge-50 is added")
    task = scene.editor.get("charge-50")
    assert task.on_failed == "tell_support"
    assert task.then == FollowUp(
        action="send_invoice", payload_json='{"order":12345678901234567890}', after=timedelta(hours=1)
    )


def test_what_follows_a_task_can_be_changed_and_taken_away(open_page: Open, url: str, scene: Scene) -> None:
    given = {"order": 12345678901234567890}
    scene.editor.add("charge", due=timedelta(days=1), id="charge-52", then=Then("send_invoice", given))
    before = scene.editor.get("charge-52").then
    page = open_page(f"{url}#task=charge-52")
    panel = page.get_by_role("dialog", name="charge-52")

    def edit(**values: str) -> None:
        press(page, "Edit")
        page.get_by_text("More", exact=True).click()
        fill(page, **values)
        press(page, "Save")
        expect(page.get_by_role("dialog", name="Edit charge-52")).to_be_hidden()

    # When only the time after which it follows is changed, its payload stays as it is
    edit(then_after="60")
    expect(panel.get_by_text("When it is done").locator("+ dd")).to_have_text("send_invoice 1 min later")
    task = scene.editor.get("charge-52")
    assert before
    assert task.then == FollowUp(
        action="send_invoice", payload_json=before.payload_json, after=timedelta(minutes=1)
    )
    # And without an action nothing follows; undone, it does again
    edit(then_action="")
    expect(panel.get_by_text("When it is done")).to_have_count(0)
    assert scene.editor.get("charge-52").then is None
    press(page, "Undo")
    expect(panel.get_by_text("When it is done").locator("+ dd")).to_have_text("send_invoice 1 min later")
    assert scene.editor.get("charge-52").then == task.then


def test_a_task_that_is_there_already_is_put_off_or_replaced_from_the_form(page: Page, scene: Scene) -> None:
    first = scene.editor.add("greet", due=timedelta(minutes=30), id="index-1")
    scene.editor.add("charge", due=timedelta(minutes=30), id="index-2")
    open_form(page)
    expect(field(page, "max_wait")).to_be_hidden()
    field(page, "if_exists").select_option("push")
    press(page, "Add")
    expect(wrong(page, "id")).to_have_text("Give the id that may be there already.")
    # When it is put off to in an hour, by two hours at most, then there is nothing that could be undone
    fill(page, id="index-1", max_wait="7200")
    press(page, "Add", then="index-1 was there already, and is put off")
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)
    task = scene.editor.get("index-1")
    assert task.created_at == first.created_at
    assert task.due > first.due
    # And another is put in the place of one that is there
    open_form(page)
    field(page, "id").fill("index-2")
    field(page, "if_exists").select_option("replace")
    press(page, "Add", then="index-2 is put in the place of the one that was there")
    assert scene.editor.get("index-2").action == "greet"
