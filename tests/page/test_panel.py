"""The panel of one task: what it tells, where the focus goes, and what follows the task."""

import re
from contextlib import suppress
from datetime import timedelta

from playwright.sync_api import Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from duebell import Then
from duebell_shared.instants import utc_now
from duebell_shared.tasks.history import Failure
from duebell_shared.tasks.status import RetentionPolicy, Status
from tests.page.conftest import Open
from tests.page.reader import PHONE, fits, has_focus, is_accessible, press, says, show
from tests.page.scene import Scene


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
    scene.overdue("late")
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


def test_the_panel_says_that_a_follow_up_is_owed_and_when_it_could_not_be_added(
    open_page: Open, url: str, scene: Scene
) -> None:
    # Given a task that is done, and owes its follow-up
    scene.editor.add("charge", due=timedelta(days=1), id="charge-43", then=Then("send_invoice"))
    ended = scene.ran(scene.editor.get("charge-43"), utc_now())
    assert ended.owes
    page = open_page(f"{url}#task=charge-43")
    panel = page.get_by_role("dialog", name="charge-43")
    follow_up = panel.get_by_text("Follow-up", exact=True).locator("+ dd")
    expect(follow_up).to_contain_text(re.compile(r"owed since .+: it is being added"))

    # Then it says that it can never be added
    assert scene.store.save(ended, ended.follow_up_settled("both ids are taken"))
    page.reload()
    expect(follow_up).to_have_text("could not be added: both ids are taken")


def test_lengths_of_time_are_said_without_zeros(open_page: Open, url: str, scene: Scene) -> None:
    lengths = {3600: "1 h", 5400: "1 h 30 min", 75: "1 min 15 s", 61.25: "1 min 1.25 s", 86400: "1 day"}
    page = open_page(url)
    for seconds, said in lengths.items():
        id = f"spread-{seconds}"
        scene.editor.add("x", due=timedelta(days=1), id=id, spread=timedelta(seconds=seconds))
        page.goto(f"{url}#task={id}")
        panel = page.get_by_role("dialog", name=id, exact=True)
        expect(panel.get_by_text("Spread", exact=True).locator("+ dd")).to_have_text(said)


def test_the_first_screen_tells_of_a_follow_up_that_is_owed_for_long(
    open_page: Open, url: str, scene: Scene
) -> None:
    # Given a task that is done, and its follow-up could not be added since
    scene.editor.add("charge", due=timedelta(days=1), id="charge-44", then=Then("send_invoice"))
    scene.ran(scene.editor.get("charge-44"), utc_now() - timedelta(minutes=20))

    # Then that is the problem, and nothing is overdue
    page = open_page(url)
    problem = page.locator("#problems li[data-kind=follow_ups_owed]")
    expect(problem).to_contain_text("the first by 'charge-44' since")
    expect(page.locator("#problems li[data-kind=overdue]")).to_have_count(0)
    expect(page.locator("#tile-overdue")).to_contain_text("0 overdue")
    expect(page.get_by_text("Follow-ups owed").locator("+ dd")).to_contain_text("1 task")

    # And its row says so, among those that are done
    row = open_page(f"{url}#status=done").locator("#list tbody tr[data-id=charge-44]")
    expect(row).to_contain_text("owes a follow-up")


def test_the_panel_says_who_changed_a_task(open_page: Open, url: str, scene: Scene) -> None:
    scene.editor.acting_as("<b>anna</b>").update("sale-50", payload={"n": 1})
    page = open_page(url)
    show(page, "sale-50")
    panel = page.get_by_role("dialog", name="sale-50")
    expect(panel.locator("dl div").filter(has_text="Last changed by")).to_contain_text("<b>anna</b>")
    # And of one that nobody knows of, nothing
    page.keyboard.press("Escape")
    show(page, "sale-51")
    expect(page.get_by_role("heading", name="Details")).to_be_visible()
    expect(page.get_by_text("Last changed by")).to_have_count(0)
    # And what is changed here is changed by HTTP
    press(page, "Pause")
    expect(page.locator("dl div").filter(has_text="Last changed by")).to_contain_text("http")


def test_a_task_tells_of_each_failed_attempt(open_page: Open, url: str, scene: Scene) -> None:
    # Given a recurring task that failed, was left running, and failed again
    at = utc_now().replace(microsecond=0)
    scene.editor.add("sync", schedule="rate(1 hour)", start=at + timedelta(hours=1), id="sync")
    task = scene.editor.move("sync", due=at)
    running = scene.claimed(task, at)
    failed = running.to_retry(at, Failure(type="Busy", message="<b>come again</b>"), now=at)
    assert scene.store.save(running, failed)
    left = scene.claimed(failed, at)
    running = scene.claimed(left, at, Status.RUNNING)
    failure = Failure(type="Declined", message="the bank says no")
    retry = running.left_running().to_retry(at, failure, now=at + timedelta(seconds=4))
    assert scene.store.save(running, retry)
    # When it is looked at
    page = open_page(f"{url}#task=sync", **PHONE)
    table = page.get_by_role("dialog").locator("section", has_text="Failed attempts").get_by_role("table")
    # Then all three are there, the latest first
    rows = table.locator("tbody tr")
    expect(rows).to_have_count(3)
    says(rows.nth(0), "attempt 3 retried", "Declined: the bank says no", "took 4.0 s")
    says(rows.nth(1), "attempt 2 failed", "WorkerDied")
    says(rows.nth(2), "attempt 1 retried", "Busy: <b>come again</b>")
    is_accessible(page)
    fits(page)


def test_a_snoozed_task_says_when_it_starts(open_page: Open, url: str, scene: Scene) -> None:
    # Given a task that is overdue, for its action snoozed it twice
    at = utc_now().replace(microsecond=0)
    task = scene.editor.add("poll", due=at - timedelta(hours=1), id="poll", payload={"page": 1})
    for number in (1, 2):
        running = scene.claimed(task, at)
        task = running.snoozed(at + number * timedelta(hours=3), '{"page": 2}', now=at)
        assert scene.store.save(running, task)
    # When it is looked at
    page = open_page(f"{url}#task=poll", **PHONE)
    panel = page.get_by_role("dialog")
    # Then it is scheduled, with no attempt, and starts when the action said
    expect(panel.get_by_text("scheduled", exact=True)).to_be_visible()
    facts = {
        name: panel.locator("dl div").filter(has=page.locator(f"dt:text-is('{name}')")).locator("dd")
        for name in ("Due", "Starts", "Attempts")
    }
    expect(facts["Attempts"]).to_have_text("0")
    expect(facts["Due"]).to_contain_text("ago")
    expect(facts["Starts"]).to_contain_text("in 6 h")
    expect(panel.get_by_text('"page": 2')).to_be_visible()
    is_accessible(page)
    fits(page)
