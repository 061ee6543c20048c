"""Limits of actions on the page: seen, set, paused and taken away."""

from datetime import timedelta

import pytest
from playwright.sync_api import expect

from duebell import ActionLimit, Worker
from tests.page.conftest import Open
from tests.page.hands import press
from tests.page.scene import Scene
from tests.page.seen import PHONE, fits, is_accessible, says
from tests.support import in_a_thread


@pytest.fixture
def worker(scene: Scene) -> Worker:
    worker = Worker(backend=scene.editor._backend)
    worker.action("mail", at_most=5, per_second=10)(lambda: None)
    worker.action("charge")(lambda: None)
    in_a_thread(worker.register)
    return worker


def test_a_limit_is_set_paused_and_taken_away(
    open_page: Open, url: str, scene: Scene, worker: Worker
) -> None:
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
    for name, text, wrong in (
        ("At a time, at most", "five", "Give a number, or nothing."),
        ("At a time, at most", "1.5", "must be a whole number"),
        ("Closed hours", "at night", "is no window such as"),
    ):
        page.get_by_label(name).fill(text)
        page.get_by_role("button", name="Set").click()
        expect(said.or_(page.locator("dialog .wrong")).filter(has_text=wrong)).to_be_visible()
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
