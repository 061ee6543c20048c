"""The worker's actions, and the form that is made of what they take."""

import re
from typing import Any

from playwright.sync_api import Page, expect

from tests.page.conftest import Open
from tests.page.hands import field, press, wrong
from tests.page.scene import Scene
from tests.page.seen import is_for_everyone, says

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
