"""The first screen: is it armed, what failed, what is late, what runs tonight."""

import re
from datetime import timedelta

from playwright.sync_api import expect

from duebell import Failure, Status
from duebell_shared.instants import utc_now
from tests.page.conftest import Open
from tests.page.hands import press, tab
from tests.page.scene import Scene
from tests.page.seen import Held, asked, box, is_accessible, says
from tests.serving import serving

MINUTE = timedelta(minutes=1)


def test_each_count_is_a_link_to_its_list(open_page: Open, url: str, scene: Scene) -> None:
    # Given what failed, a recurring task that fails, one that is late, one that runs
    scene.failing("hourly-sync", Failure(type="Busy", message="come again"))
    scene.overdue("too-late")
    running = scene.claimed(scene.editor.move("sale-40", due=utc_now() - MINUTE), utc_now())
    assert running.status is Status.RUNNING
    page = open_page(url)
    rows = page.locator("#list tbody tr")
    expect(page.locator("#tile-failed")).to_contain_text("7 failed")
    expect(page.locator("#tile-failed")).to_have_class(re.compile("bad"))
    expect(page.locator("#tile-overdue")).to_have_class(re.compile("bad"))
    # When each is pressed, then its list is shown, and holds as many
    page.locator("#tile-failed").click()
    expect(rows).to_have_count(7)
    says(rows.first, "hourly-sync", "failing")
    page.locator("#tile-overdue").click()
    expect(tab(page, "Overdue")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#tile-overdue")).to_contain_text("1 overdue")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("too-late")
    page.locator("#tile-running").click()
    expect(page.locator("#tile-running")).to_contain_text("1 running")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("sale-40")
    page.locator("#tile-tonight").click()
    expect(page.locator("#tile-tonight")).to_contain_text("until 06:00")
    count = scene.editor.status(timezone="Europe/Berlin").due_tonight
    expect(rows).to_have_count(count)
    # And the address of a count opens its list elsewhere
    link = page.locator("#tile-failed").get_attribute("href")
    elsewhere = open_page(f"{url}{link}")
    expect(elsewhere.locator("#list tbody tr")).to_have_count(7)


def test_an_empty_queue_is_well_and_says_what_to_do(open_page: Open) -> None:
    with serving(Scene().editor) as url:
        page = open_page(url)
        for name, words in {"failed": "0 failed", "overdue": "0 overdue", "tonight": "0 due tonight"}.items():
            expect(page.locator(f"#tile-{name}")).to_contain_text(words)
            expect(page.locator(f"#tile-{name}")).not_to_have_class(re.compile("bad"))
        expect(page).to_have_title("duebell")
        says(page.locator("#rule"), "Healthy", "the rule is parked")
        expect(page.get_by_text("The queue is empty.")).to_be_visible()
        expect(page.locator("#chart-note")).to_contain_text("nothing.")
        is_accessible(page)


def test_failures_are_grouped_and_a_group_is_retried(open_page: Open, url: str, scene: Scene) -> None:
    other = scene.editor.add("send_mail", due=timedelta(days=1), id="other")
    scene.ran(other, utc_now(), failure=Failure(type="TimeoutError", message="no answer"))
    scene.failing("hourly-sync", Failure(type="TimeoutError", message="no answer"))
    for n in range(2):
        more = scene.editor.add(f"other_{n}", due=timedelta(days=1))
        scene.ran(
            more,
            utc_now() - timedelta(days=2),
            failure=Failure(type="TypeError", message="no field " * 15),
        )
    page = open_page(url)
    # Given more groups than are told of first; the way to all is in sight on a phone, too
    expect(page.locator("#failures li")).to_have_count(3)
    page.set_viewport_size({"width": 390, "height": 844})
    within, way = box(page.locator("#failures")), box(page.get_by_role("button", name="Show all 5 groups"))
    assert way["y"] + way["height"] <= within["y"] + within["height"]
    page.set_viewport_size({"width": 1280, "height": 720})
    press(page, "Show all 5 groups")
    groups = page.locator("#failures li")
    expect(groups).to_have_count(5)
    says(groups.first, "send_mail: CardDeclined", "the bank declined the card")
    # When one is chosen, then the list is of it alone, until it is not
    press(page, "send_mail: TimeoutError")
    expect(page.locator("#list tbody tr")).to_have_count(1)
    page.get_by_role("button", name="show other errors").click()
    expect(page.locator("#list tbody tr")).to_have_count(7)
    # When it is retried, then its tasks are, and no others
    page.get_by_role("button", name="Retry 6 of send_mail: CardDeclined").click()
    press(page, "Retry 6 tasks", then="6 tasks retried")
    expect(groups).to_have_count(4)
    expect(page.locator("#tile-failed")).to_contain_text("4 failed")
    assert scene.editor.get("mail-003").status is Status.SCHEDULED
    assert scene.editor.get("other").status is Status.FAILED
    # And of a recurring task, the action is run once more
    page.get_by_role("button", name="Run 1 now of hourly_sync: TimeoutError").click()
    press(page, "Run now 1 task")
    expect(page.get_by_text("1 task run", exact=True)).to_be_visible()
    assert scene.editor.get("hourly-sync").recurrence.origin == "extra"  # type: ignore[union-attr]
    is_accessible(page)


def test_the_rows_are_asked_for_first_and_a_task_can_be_added_before_they_are_there(
    open_page: Open, url: str
) -> None:
    page = open_page("about:blank")
    rows, calls = Held(page, "**/api/tasks?**"), asked(page, "/api/")
    page.goto(url)
    press(page, "Add a task")
    expect(page.get_by_role("dialog", name="Add a task")).to_be_visible()
    # Beside the rows, only the form has asked for anything
    assert calls[0] == f"{url}api/tasks?limit=50&brief=true"
    assert {one.removeprefix(f"{url}api/") for one in calls[1:]} <= {"worker", "timezones"}
    rows.let_go()
    expect(page.locator("tbody tr").first).to_be_visible()


def test_twenty_rows_are_above_the_fold_each_with_its_payload_or_error(open_page: Open, url: str) -> None:
    page = open_page(url, viewport={"width": 1440, "height": 900})
    expect(page.locator("#list tbody tr").nth(30)).to_be_attached()
    expect(page.locator("#tile-failed")).to_be_visible()
    expect(page.locator("#chart button").first).to_be_visible()
    seen = "rows => rows.filter((row) => row.getBoundingClientRect().bottom <= innerHeight).length"
    assert page.locator("#list tbody tr").evaluate_all(seen) >= 20
    expect(page.locator("#list tr[data-id=sale-45] .more")).to_have_text('{"item":45}')
    tab(page, "Failed").click()
    why = "CardDeclined: the bank declined the card"
    expect(page.locator("#list tr[data-id=mail-003] .more")).to_have_text(why)
    expect(tab(page, "Done")).to_contain_text("54")
    expect(tab(page, "Paused")).to_contain_text("1")
