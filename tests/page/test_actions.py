"""The worker's actions with their limits, and the form that is made of what they take."""

import re
from datetime import timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from duebell import ActionLimit, Worker
from tests.page.conftest import Open
from tests.page.reader import PHONE, field, fits, is_accessible, is_for_everyone, press, says, wrong
from tests.page.scene import Scene
from tests.support import in_a_thread

SALE = {
    "title": "Sale",
    "type": "object",
    "required": ["item", "kind", "since"],
    "properties": {
        "item": {"type": "integer", "minimum": 1},
        "kind": {"enum": ["half", "third"]},
        "since": {"type": "string", "format": "date-time"},
        "price": {"type": "number"},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        "loud": {"type": "boolean", "default": False},
        "shop": {"$ref": "#/$defs/Shop"},
    },
    "$defs": {"Shop": {"type": "object", "properties": {"city": {"type": "string"}}}},
}

WORKER: dict[str, Any] = {
    "version": "8f14e45fceea",
    "duebell": "0.1.0",
    "python": "3.13.2",
    "tzdata": "2026f",
    "started_at": "2026-11-22T08:00:00.000Z",
    "error": None,
    "actions": [
        {"name": "put_on_sale", "attempts": 5, "schema": SALE, "recurring": []},
        {"name": "remind", "attempts": 1, "schema": {"type": "object"}, "recurring": []},
        {"name": "daily_report", "attempts": 3, "schema": None, "recurring": ["daily-report"]},
        {
            "name": "end_trial",
            "attempts": 5,
            "schema": {},
            "recurring": [],
            "kind": "fifo queue",
            "to": "arn:aws:sqs:eu-central-1:123456789012:ends.fifo",
        },
    ],
}


def known(page: Page, worker: dict[str, Any] | None = WORKER) -> Page:
    """The page, where the worker has made itself known as this."""
    page.route("**/api/worker", lambda route: route.fulfill(json={"worker": worker}))
    page.reload()
    return page


def part(page: Page, name: str) -> Any:
    return page.locator(f"dialog [name=payload-{name}]")


def form(page: Page) -> None:
    """The form for a new task of the action with fields."""
    press(page, "Add a task for put_on_sale")
    expect(part(page, "item")).to_be_visible()


def test_actions_are_listed_with_what_they_take(open_page: Open, url: str) -> None:
    page = known(open_page(f"{url}actions"), None)
    expect(page.locator("#worker")).to_contain_text("No worker has started in this queue yet")
    known(page)
    sale = page.locator("#list li").first
    says(sale, "put_on_sale", "5 attempts")
    expect(sale.locator("dl > div")).to_have_count(7)
    expect(sale.locator("dl > div").nth(1)).to_have_text('kindone of "half", "third"')
    expect(sale.locator("dl > div").nth(4)).to_have_text("note optionaltext or nothing")
    expect(page.locator("#list li").nth(2)).to_contain_text("Takes no payload.")
    expect(page.locator("#worker")).to_contain_text("Version 8f14e45fceea, with duebell 0.1.0")
    is_for_everyone(page)
    # And lead to their tasks
    page.get_by_role("link", name="daily-report").click()
    expect(page.get_by_role("dialog", name="daily-report")).to_be_visible()
    page.go_back()
    page.get_by_role("link", name="Its tasks").first.click()
    expect(page.get_by_label("Action")).to_have_value("put_on_sale")


def test_a_payload_is_filled_in_as_a_form(open_page: Open, url: str, scene: Scene) -> None:
    page = known(open_page(f"{url}actions"))
    form(page)
    # When it is filled in
    part(page, "item").fill("12345678901234567890")
    part(page, "kind").select_option("half")
    part(page, "since").fill("2026-12-31T09:00:00")
    part(page, "price").fill("0.10")
    part(page, "loud").select_option("true")
    part(page, "shop").fill('{"city": "Bonn"}')
    page.get_by_text("More", exact=True).click()
    field(page, "id").fill("sale")
    press(page, "Add", then="sale is added")
    # Then that is its payload, with numbers as they were written
    task = scene.editor.get("sale")
    assert task.action == "put_on_sale"
    assert task.payload == {
        "item": 12345678901234567890,
        "kind": "half",
        "since": "2026-12-31T08:00:00.000Z",
        "price": 0.10,
        "loud": True,
        "shop": {"city": "Bonn"},
    }


def test_what_does_not_fit_is_said_at_its_field(open_page: Open, url: str, scene: Scene) -> None:
    page = known(open_page(f"{url}actions"))
    form(page)
    for name, text, said in (
        ("item", "", "This is needed."),
        ("item", "1.5", "Write a whole number."),
        ("item", "0", "Give 1 or more."),
        ("price", "1,5", "Write a number, such as 12.5."),
        ("shop", "{", "This is not JSON."),
    ):
        part(page, "item").fill("1")
        part(page, "kind").select_option("half")
        part(page, "since").fill("2026-12-31T09:00:00")
        part(page, name).fill(text)
        press(page, "Add")
        expect(wrong(page, f"payload-{name}")).to_have_text(said)
        expect(part(page, name)).to_be_focused()
        part(page, name).fill("")
    part(page, "item").fill("1")
    part(page, "kind").select_option("")
    press(page, "Add")
    expect(wrong(page, "payload-kind")).to_have_text("Choose one.")
    # And what the API finds wrong is said there as well
    problem = {"status": 422, "detail": "x", "field": "payload.shop.city", "reason": "must be text"}
    page.route("**/api/tasks", lambda route: route.fulfill(status=422, json=problem))
    part(page, "kind").select_option("half")
    press(page, "Add")
    expect(wrong(page, "payload-shop")).to_have_text("shop must be text")


def test_json_is_written_instead_and_a_form_again(open_page: Open, url: str) -> None:
    page = known(open_page(f"{url}actions"))
    form(page)
    is_for_everyone(page)
    part(page, "item").fill("7")
    press(page, "Write JSON instead")
    text = field(page, "payload")
    expect(text).to_have_value(re.compile(r'"item": 7'))
    # Fields that the form cannot show stay JSON
    text.fill('{"item": 8, "other": 1}')
    expect(page.get_by_role("button", name="Fill in a form instead")).to_be_hidden()
    text.fill('{"item": 8}')
    press(page, "Fill in a form instead")
    expect(part(page, "item")).to_have_value("8")
    # And so is the payload of an action without fields, and one without any is left out
    field(page, "action").fill("remind")
    expect(text).to_be_visible()
    text.fill("{}")
    field(page, "action").fill("daily_report")
    expect(page.get_by_text("This action takes no payload.")).to_be_visible()
    expect(text).to_be_hidden()
    # And an unknown action is told
    field(page, "action").fill("put_on_slae")
    expect(page.get_by_text("The worker has no action “put_on_slae”: it would fail.")).to_be_visible()


@pytest.fixture
def worker(scene: Scene) -> Worker:
    worker = Worker(backend=scene.editor._backend)
    worker.action("mail", at_most=5, per_second=10)(lambda: None)
    worker.action("charge")(lambda: None)
    in_a_thread(worker.register)
    return worker


def test_a_limit_is_set_paused_and_removed(open_page: Open, url: str, scene: Scene, worker: Worker) -> None:
    page = open_page(f"{url}actions")
    mail = page.locator("#list li").filter(has=page.get_by_role("heading", name="mail"))
    expect(mail).to_contain_text("Limits: 5 at a time, 10 a second")
    # When it is to be slower
    press(page, "Limits of mail")
    page.get_by_label("Started a second, at most").fill("2")
    is_accessible(page)
    page.get_by_role("button", name="Set").click()
    expect(mail).to_contain_text("Limits: 5 at a time, 2 a second since ")
    expect(mail).to_contain_text("Its code declares: 5 at a time, 10 a second.")
    # And paused
    press(page, "Limits of mail")
    expect(page.get_by_label("Started a second, at most")).to_have_value("2")
    page.get_by_role("button", name="Pause").click()
    expect(mail).to_contain_text("Paused since ")
    is_accessible(page)
    fits(page)
    page.set_viewport_size(PHONE["viewport"])
    fits(page)
    # And as its code declares
    press(page, "Limits of mail")
    page.get_by_role("button", name="As declared").click()
    expect(mail).to_contain_text("Limits: 5 at a time, 10 a second")
    expect(mail).not_to_contain_text("since")
    limits: list[ActionLimit] = []
    in_a_thread(lambda: limits.extend(scene.editor.limits()))
    assert [(one.action, one.since) for one in limits] == [("mail", None)]


def test_closed_hours_are_set_and_told(open_page: Open, url: str, worker: Worker) -> None:
    page = open_page(f"{url}actions")
    charge = page.locator("#list li").filter(has=page.get_by_role("heading", name="charge"))
    press(page, "Limits of charge")
    # Given what cannot be a limit, then it is said where it is
    said = page.get_by_role("dialog").get_by_role("alert")
    for name, text, told in (
        ("At a time, at most", "five", "Give a number, or nothing."),
        ("At a time, at most", "1.5", "must be a whole number"),
        ("Closed hours", "at night", "is no window such as"),
    ):
        page.get_by_label(name).fill(text)
        page.get_by_role("button", name="Set").click()
        expect(said.or_(page.locator("dialog .wrong")).filter(has_text=told)).to_be_visible()
        page.get_by_label(name).fill("")
    page.get_by_label("Closed hours").fill("mon-fri 22:00-06:00 Europe/Berlin; sat, sun")
    is_accessible(page)
    page.get_by_role("button", name="Set").click()
    expect(charge).to_contain_text("Limits: closed mon-fri 22:00-06:00 Europe/Berlin; sat, sun UTC")
    press(page, "Limits of charge")
    expect(page.get_by_label("Closed hours")).to_have_value("mon-fri 22:00-06:00 Europe/Berlin; sat, sun UTC")
    page.get_by_role("button", name="As declared").click()
    expect(charge).not_to_contain_text("closed")


def test_the_first_screen_answers_why_nothing_is_started(
    open_page: Open, url: str, scene: Scene, worker: Worker
) -> None:
    editor = scene.editor.acting_as("ann")

    def pause() -> None:
        editor.add_many({"action": "charge", "due": timedelta(0), "id": f"charge-{n}"} for n in range(3))
        editor.limit("charge", at_most=0)
        worker.run()

    in_a_thread(pause)
    page = open_page(url)
    limits = page.locator("#problems [data-kind=action_paused]")
    says(limits, "The action 'charge' is paused since ", " by ann, and 3 tasks wait.")
    is_accessible(page)
    fits(page)
    # Their bar says so. They are put back by up to 25 hours, which the view of a day may not show
    page.get_by_role("button", name="Month", exact=True).click()
    expect(page.locator("#chart [aria-label*='3 of paused actions']").first).to_be_attached()
    limits.get_by_role("link", name="Change limits").click()
    card = page.locator("#list li").filter(has=page.get_by_role("heading", name="charge"))
    says(card, "Paused since ", "3 tasks wait")
    # And a task promises no start
    page.goto(f"{url}#task=charge-1")
    says(page.get_by_role("dialog"), "Next look", "Waits for its action's limit since")
