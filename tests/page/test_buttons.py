"""Buttons under quick fingers: what is pressed twice is done once."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from duebell_shared.tasks.status import Status
from tests.page.conftest import Open
from tests.page.hands import field, show
from tests.page.scene import Scene


@pytest.mark.parametrize(("id", "button"), [("mail-003", "Retry")])
def test_two_quick_clicks_are_one(open_page: Open, url: str, scene: Scene, id: str, button: str) -> None:
    page = open_page(f"{url}#task={id}")
    before = scene.editor.get(id).rev
    page.get_by_role("button", name=button, exact=True).dblclick()
    expect(page.get_by_role("button", name=button, exact=True)).to_be_hidden()
    expect(page.locator(".toast")).to_have_count(1)
    expect(page.locator(".toast.bad")).to_have_count(0)
    assert scene.editor.get(id).rev == before + 1


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
    held: list[Any] = []
    page.route("**/tasks/sale-50/pause", lambda route: held.append(route))  # noqa: PLW0108 - Playwright looks into it
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
    assert len(held) == 1
    held[0].continue_()
    expect(page.get_by_text("sale-50 is paused")).to_be_visible()
    expect(actions).to_have_attribute("aria-busy", "false")
    assert scene.editor.get("sale-50").status is Status.PAUSED


def test_a_form_is_sent_once(page: Page) -> None:
    held: list[Any] = []
    page.route("**/api/tasks", lambda route: held.append(route))  # noqa: PLW0108 - Playwright looks into it
    page.locator("#add").click()
    field(page, "action").fill("greet")
    field(page, "action").press("Enter")
    expect(page.get_by_role("button", name="Add", exact=True)).to_be_disabled()
    field(page, "action").press("Enter")
    page.get_by_role("button", name="Add", exact=True).click(force=True)
    assert len(held) == 1
    held[0].continue_()
    expect(page.get_by_text("is added")).to_be_visible()
