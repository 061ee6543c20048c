"""The panel of one task: where the focus goes, what an outage leaves of it, and that everything fits."""

from contextlib import suppress
from datetime import timedelta

from playwright.sync_api import Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from duebell import Then
from duebell_shared.instants import utc_now
from duebell_shared.tasks.history import Failure
from duebell_shared.tasks.status import RetentionPolicy, Status
from duebell_shared.tasks.task import Task
from tests.page.conftest import Open
from tests.page.hands import has_focus, press, show
from tests.page.scene import Scene
from tests.page.seen import PHONE, fits


def test_a_recurring_task_is_cancelled_only_when_that_is_confirmed(page: Page, scene: Scene) -> None:
    show(page, "daily-report")
    press(page, "Cancel", then="It will not run again")
    press(page, "Go back")
    assert scene.editor.get("daily-report").status is Status.SCHEDULED
    press(page, "Cancel")
    page.get_by_role("button", name="Cancel the task").press("Enter")
    expect(page.get_by_text("daily-report is cancelled")).to_be_visible()
    assert scene.editor.get("daily-report").status is Status.CANCELLED
    # And the focus is not lost
    expect(page.get_by_role("button", name="Add again")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    assert has_focus(page)


def test_long_words_are_broken(open_page: Open, url: str, scene: Scene) -> None:
    # Given a task with nothing but long words
    word = "x" * 256
    task = scene.editor.add(word, due=timedelta(days=1), id=word, payload={word: word * 3})
    failure = Failure(type=word, message=word * 2, traceback=word)
    scene.ran(task, utc_now(), failure=failure)
    # When it is looked at, and edited
    page = open_page(f"{url}#task={word}", **PHONE)
    expect(page.get_by_role("heading", name="Last failure")).to_be_visible()
    fits(page)
    press(page, "Edit")
    # Then all of it fits
    expect(page.get_by_role("dialog")).to_have_count(2)
    fits(page)
    press(page, "Discard")
    press(page, "Cancel")
    expect(page.get_by_role("button", name="Cancel the task")).to_be_visible()
    fits(page)


def test_a_task_that_was_opened_while_the_server_was_away_is_shown_when_it_is_back(page: Page) -> None:
    page.route("**/api/tasks/sale-50", lambda route: route.abort())
    show(page, "sale-50")
    panel = page.get_by_role("dialog")
    expect(panel).to_contain_text("The task cannot be shown: The server does not answer")
    page.unroute("**/api/tasks/sale-50")
    with suppress(PlaywrightTimeout):  # the page may hear of a change just then, and show it by itself
        panel.get_by_role("button", name="Try again").click(timeout=2_000)
    expect(panel.get_by_text("put_on_sale")).to_be_visible()


def test_a_task_tells_why_it_waits_and_a_late_one_at_once(open_page: Open, url: str, scene: Scene) -> None:
    # Given a task that should have been started, besides those of the shop
    past = utc_now().replace(microsecond=0) - timedelta(minutes=9)
    late = Task(
        id="late",
        lane=scene.editor.queue.lane_of("late"),
        action="charge",
        due=past,
        queued=past,
        created_at=past,
    )
    assert scene.store.insert(late)
    page = open_page(url)
    show(page, "sale-50")
    panel = page.get_by_role("dialog", name="sale-50")
    panel.get_by_role("button", name="Why does it wait?").click()
    expect(panel.locator("[role=status]").first).to_contain_text("it is not due yet: ")
    page.keyboard.press("Escape")
    show(page, "late")
    told = page.get_by_role("dialog", name="late").locator("[role=status]").first
    expect(told).to_contain_text("Late: ")


def test_a_result_is_shown_as_it_was_written(open_page: Open, url: str, scene: Scene) -> None:
    # Given tasks that are done, one with a number that JavaScript would round, and one without a result
    cases: dict[str, tuple[dict[str, str], str]] = {
        "kept": ({"result_json": '{"n":12345678901234567890}'}, "12345678901234567890"),
        "large": ({"result_error": "is 5,000 bytes as JSON"}, "Not kept: is 5,000 bytes as JSON."),
        "none": ({}, ""),
    }
    for id, (result, shown) in cases.items():
        task = scene.editor.add("act", due=timedelta(days=1), id=id)
        done = task.done(now=utc_now(), keep=RetentionPolicy(), **result)
        assert scene.store.save(task, done)
        # When they are looked at
        page = open_page(f"{url}#task={id}")
        panel = page.get_by_role("dialog", name=id)
        # Then each is told as it is
        expect(panel.get_by_role("heading", name="Payload")).to_be_visible()
        section = panel.locator("section").filter(has=page.get_by_role("heading", name="Result"))
        expect(section).to_have_count(1 if shown else 0)
        if shown:
            expect(section).to_contain_text(shown)


def test_a_batch_tells_how_far_its_tasks_are_and_each_task_leads_to_it(
    open_page: Open, url: str, scene: Scene
) -> None:
    scene.editor.batch("month", wait_for=["sale-50", "sale-51"], then=Then("report"))
    page = open_page(f"{url}#task=sale-51")
    page.get_by_role("dialog", name="sale-51").get_by_role("link", name="month").click()
    panel = page.get_by_role("dialog", name="month")
    expect(panel.get_by_text("blocked", exact=True)).to_be_visible()
    expect(panel.get_by_text("Its tasks").locator("+ dd")).to_have_text("0 of 2 have ended, 0 failed")
    # And each its history
    panel.get_by_role("button", name="Show the history").click()
    expect(panel.get_by_role("cell", name="add", exact=True)).to_be_visible()


def test_an_expired_task_has_no_attempt_in_its_history(open_page: Open, url: str, scene: Scene) -> None:
    task = scene.claimed(scene.editor.add("poll", due=timedelta(0), id="late"), utc_now())
    assert scene.store.save(task, task.expired(now=utc_now(), keep=RetentionPolicy()))
    page = open_page(f"{url}#task=late")
    press(page, "Show the history")
    expect(page.get_by_role("cell", name="expired", exact=True)).to_be_visible()
