"""The first screen: is it armed, what failed, what is late, what runs tonight."""

import json
import re
from contextlib import suppress
from datetime import timedelta

import msgspec
from playwright.sync_api import Locator, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from duebell_editor import Failure, Problem, ProblemKind, Status
from duebell_editor.http.answers import to_json
from duebell_editor.json_fields import status_fields
from duebell_shared.instants import utc_now
from duebell_shared.keeping import Keeping
from duebell_shared.worker_record import WorkerDescription, WorkerRecord
from tests.page.conftest import Open
from tests.page.hands import press, show, tab
from tests.page.scene import Scene
from tests.page.seen import Held, asked, fits, is_accessible
from tests.serving import serving

MINUTE = timedelta(minutes=1)
KEEP = Keeping(retention=timedelta(days=30))


def failing(scene: Scene, id: str, failure: Failure) -> None:
    """A recurring task whose last occurrence failed."""
    task = scene.editor.add("hourly_sync", schedule="rate(1 hour)", id=id)
    assert scene.store.save(task, task.failed(failure, now=utc_now(), keep=KEEP))


def overdue(scene: Scene, id: str, minutes: int = 9) -> None:
    """A task that should have run, and a record that does not know of it."""
    scene.editor.add("late", due=timedelta(days=2), id=id)
    task = scene.editor.get(id)
    due = utc_now() - minutes * MINUTE
    assert scene.store.save(task, msgspec.structs.replace(task, due=due, queued=due, rev=task.rev + 1))


def test_each_count_is_a_link_to_its_list(open_page: Open, url: str, scene: Scene) -> None:
    # Given what failed, a recurring task that fails, one that is late, one that runs
    failing(scene, "hourly-sync", Failure(type="Busy", message="come again"))
    overdue(scene, "too-late")
    running = scene.claimed(scene.editor.move("sale-40", due=utc_now() - MINUTE), utc_now())
    assert running.status is Status.RUNNING
    page = open_page(url)
    rows = page.locator("#list tbody tr")
    expect(page.locator("#tile-failed")).to_contain_text("7 failed 6 tasks, 1 recurring")
    expect(page.locator("#tile-failed")).to_have_class(re.compile("bad"))
    expect(page.locator("#tile-overdue")).to_have_class(re.compile("bad"))
    # When each is pressed, then its list is shown, and holds as many
    page.locator("#tile-failed").click()
    expect(rows).to_have_count(7)
    expect(rows.first).to_contain_text("hourly-sync")
    expect(rows.first).to_contain_text("failing")
    page.locator("#tile-overdue").click()
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


def test_when_all_is_well_the_counts_are_there_and_not_red(open_page: Open) -> None:
    with serving(Scene().editor) as url:
        page = open_page(url)
        for name, words in (
            ("failed", "0 failed none kept"),
            ("overdue", "0 overdue"),
            ("running", "0 running"),
            ("tonight", "0 due tonight"),
        ):
            expect(page.locator(f"#tile-{name}")).to_contain_text(words)
            expect(page.locator(f"#tile-{name}")).not_to_have_class(re.compile("bad"))
        expect(page).to_have_title("duebell")
        expect(page.locator("#rule")).to_contain_text("Armed")


def test_failures_are_grouped_and_a_group_is_retried(open_page: Open, url: str, scene: Scene) -> None:
    other = scene.editor.add("send_mail", due=timedelta(days=1), id="other")
    scene.ran(other, utc_now(), failure=Failure(type="TimeoutError", message="no answer"))
    failing(scene, "hourly-sync", Failure(type="TimeoutError", message="no answer"))
    page = open_page(url)
    expect(page.locator("#failures")).to_be_hidden()
    tab(page, "Failed").click()
    groups = page.locator("#failures li")
    expect(groups).to_have_count(3)
    expect(groups.first).to_contain_text("send_mail: CardDeclined")
    expect(groups.first).to_contain_text("the bank declined the card")
    # When one is chosen, then the list is of it alone, until it is not
    press(page, "send_mail: TimeoutError")
    expect(page.locator("#list tbody tr")).to_have_count(1)
    page.get_by_role("button", name="show other errors").click()
    expect(page.locator("#list tbody tr")).to_have_count(7)
    # When it is retried, then its tasks are, and no others
    page.get_by_role("button", name="Retry 6 of send_mail: CardDeclined").click()
    press(page, "Retry 6 tasks")
    expect(page.get_by_text("6 tasks retried")).to_be_visible()
    expect(groups).to_have_count(2)
    expect(page.locator("#tile-failed")).to_contain_text("2 failed")
    assert scene.editor.get("mail-003").status is Status.SCHEDULED
    assert scene.editor.get("other").status is Status.FAILED
    # And of a recurring task, the action is run once more
    page.get_by_role("button", name="Run 1 now of hourly_sync: TimeoutError").click()
    press(page, "Run now 1 task")
    expect(page.get_by_text("1 task run", exact=True)).to_be_visible()
    assert scene.editor.get("hourly-sync").recurrence.turn == "extra"  # type: ignore[union-attr]
    is_accessible(page)


def test_twenty_rows_are_above_the_fold(open_page: Open, url: str) -> None:
    page = open_page(url, viewport={"width": 1440, "height": 900})
    expect(page.locator("#list tbody tr").nth(30)).to_be_attached()
    expect(page.locator("#tile-failed")).to_be_visible()
    expect(page.locator("#chart button").first).to_be_visible()
    seen = "rows => rows.filter((row) => row.getBoundingClientRect().bottom <= innerHeight).length"
    assert page.locator("#list tbody tr").evaluate_all(seen) >= 20


def test_problems_are_told_in_the_pages_own_words_with_what_to_press(open_page: Open, scene: Scene) -> None:
    overdue(scene, "too-late", minutes=30)
    scene.events.rule["ScheduleExpression"] = "cron(0 0 1 1 ? 2030)"
    with serving(scene.editor) as url:
        page = open_page(url, viewport={"width": 1024, "height": 768})
        problems = page.locator("#problems")
        expect(problems).to_contain_text("2 problems")
        expect(problems).to_contain_text("Tasks are overdue, the first since today at")
        # Then there is nothing to type, and no time of another zone
        said = problems.text_content() or ""
        assert not re.search(r"duebell |`|\dZ|python|aws ", said), said
        # And each is told over the whole width
        for line in problems.locator("li").all():
            words, whole = line.bounding_box(), problems.bounding_box()
            assert words
            assert whole
            assert words["width"] > whole["width"] * 0.9
        is_accessible(page)
        fits(page)
        problems.get_by_role("button", name="Set the rule").click()
        expect(problems).to_contain_text("1 problem")


def test_each_kind_of_problem_has_advice_in_the_pages_own_words(
    open_page: Open, url: str, scene: Scene
) -> None:
    # Given a server that tells of all kinds; advice is no part of a status
    kinds = set(ProblemKind) - {ProblemKind.SILENCE, ProblemKind.UNSEEN_DELIVERY}
    at = utc_now() - 9 * MINUTE
    problems = [
        Problem(kind=kind, what="2 things are wrong", way_out="this is for terminals", at=at)
        for kind in kinds
    ]
    status = msgspec.structs.replace(scene.editor.status(), problems=tuple(problems))
    answer = json.loads(to_json(status_fields(status)))
    page = open_page("about:blank")
    page.route("**/api/status*", lambda route: route.fulfill(json=answer))
    page.route("**/api/doctor", lambda route: route.fulfill(json=answer))
    page.route("**/api/changes*", lambda route: route.abort())
    page.goto(url)
    # When the doctor is asked, too
    press(page, "Ask the doctor")
    # Then each is told, with an advice that is not the API's; failed tasks have a tile
    told = page.locator("#problems li")
    tiles = {ProblemKind.FAILED_TASKS, ProblemKind.FAILING_TASKS}
    expect(told).to_have_count(len(kinds - tiles))
    assert {one.get_attribute("data-kind") for one in told.all()} == kinds - tiles
    for one in told.all():
        advice = one.locator("span").text_content()
        assert advice, one.get_attribute("data-kind")
        assert "terminals" not in advice


def test_a_worker_that_cannot_start_is_told_with_what_follows_from_it(
    open_page: Open, url: str, scene: Scene
) -> None:
    error = Failure(type="ModuleNotFoundError", message="No module named 'payloads'", traceback="File …")
    at = utc_now() - 9 * MINUTE
    worker = WorkerDescription(
        version="8f14e45f", duebell="0.1.0", python="3.13.2", tzdata="2026f", started_at=at, error=error
    )
    assert scene.store.swap_worker(None, WorkerRecord(worker=worker))
    overdue(scene, "too-late", minutes=8)
    page = open_page(url)
    told = page.locator("#problems li")
    expect(told).to_have_count(2)
    expect(told.first).to_contain_text("ModuleNotFoundError: No module named 'payloads'")
    # Then nothing is offered to press that would not help
    expect(told.last).to_contain_text("It follows from the worker's problem.")
    expect(page.get_by_role("button", name="Set the rule")).to_have_count(0)
    # And the way to the traceback is there
    told.first.get_by_role("link", name="Actions").click()
    expect(page.get_by_role("alert").filter(has_text="could not start")).to_contain_text("File …")


def test_a_ring_that_did_not_come_is_not_about_to_come(open_page: Open, scene: Scene) -> None:
    # Given a rule that should have rung five minutes ago
    scene.events.rule["ScheduleExpression"] = "cron(0 0 1 1 ? 2030)"
    with serving(scene.editor) as url:
        page = open_page("about:blank")
        status = scene.editor.status()
        late = msgspec.to_builtins(status) | {"healthy": False, "problems": []}
        late["rings_at"] = (utc_now() - 5 * MINUTE).isoformat().replace("+00:00", "Z")
        late["next_due"] = late["rings_at"]
        page.route("**/api/status*", lambda route: route.fulfill(json=late))
        page.route("**/api/changes*", lambda route: route.abort())
        page.goto(url)
        expect(page.locator("#countdown")).to_contain_text(re.compile(r"Should have rung 5 min \d\d s ago"))
        expect(page.locator("#rule")).not_to_contain_text("any moment")


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
        press(page, "Pause")
        expect(page.get_by_text("250 tasks will be paused")).to_be_visible()
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
        press(page, "Undo")
        expect(page.get_by_text("100 tasks resumed")).to_be_visible()


def try_again(panel: Locator) -> None:
    """Press the button, unless the page hears of a change just then, and shows the task by itself."""
    with suppress(PlaywrightTimeout):
        panel.get_by_role("button", name="Try again").click(timeout=2_000)


def test_a_task_that_was_opened_while_the_server_was_away_is_shown_when_it_is_back(
    open_page: Open, url: str
) -> None:
    page = open_page(url)
    page.route("**/api/tasks/sale-50", lambda route: route.abort())
    show(page, "sale-50")
    panel = page.get_by_role("dialog")
    expect(panel).to_contain_text("The task cannot be shown: The server does not answer")
    page.unroute("**/api/tasks/sale-50")
    try_again(panel)
    expect(panel.get_by_text("put_on_sale")).to_be_visible()
    # And one that was shown before is shown again
    page.route("**/api/tasks/sale-50", lambda route: route.abort())
    page.get_by_role("button", name="Pause", exact=True).click()
    page.route("**/api/tasks/sale-50/pause", lambda route: route.continue_())
    expect(panel).to_contain_text("The task cannot be shown")
    page.unroute("**/api/tasks/sale-50")
    try_again(panel)
    expect(panel.get_by_text("paused", exact=True)).to_be_visible()


def test_keys_lead_through_the_list(open_page: Open, url: str) -> None:
    page = open_page(url)
    expect(page.locator("#list tbody tr").first).to_be_visible()
    page.keyboard.press("j")
    expect(page.get_by_role("button", name="sale-40", exact=True)).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.get_by_label("Select sale-41")).to_be_checked()
    page.keyboard.press("k")
    expect(page.get_by_role("button", name="sale-40", exact=True)).to_be_focused()
    # Text is text
    page.keyboard.press("/")
    search = page.get_by_label("Search", exact=True)
    expect(search).to_be_focused()
    page.keyboard.type("x/j?")
    expect(search).to_have_value("x/j?")
    search.blur()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("j")
    is_accessible(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_keys_do_on_each_page_what_it_has(open_page: Open, url: str) -> None:
    page = open_page(f"{url}schedules")
    expect(page.locator("#list tbody tr").first).to_be_visible()
    page.keyboard.press("j")
    expect(page.get_by_role("button", name="daily-report", exact=True)).to_be_focused()
    page.keyboard.press("x")
    expect(page.get_by_label("Select daily-report")).to_be_checked()
    page.keyboard.press("/")
    expect(page.get_by_label("Id starts with")).to_be_focused()
    page.get_by_role("link", name="Actions").focus()
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(keys).to_contain_text("Search")
    expect(keys).to_contain_text("Select")
    page.goto(f"{url}actions")
    expect(page.locator("#environment")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.press("?")
    expect(keys).to_be_visible()
    expect(keys).not_to_contain_text("Search")
    expect(keys).not_to_contain_text("Select")


def test_the_order_of_time_can_be_turned(open_page: Open, url: str) -> None:
    page = open_page(url)
    rows = page.locator("#list tbody tr")
    expect(rows.first).to_contain_text("sale-40")
    page.get_by_role("button", name="Due ↑").click()
    expect(rows.first).to_contain_text("trial-expiry:XYZ029")
    expect(page.locator("#list th.due")).to_have_attribute("aria-sort", "descending")
    page.reload()
    expect(rows.first).to_contain_text("trial-expiry:XYZ029")
    tab(page, "Failed").click()
    expect(rows.first).to_contain_text("mail-058")
    page.get_by_role("button", name="Ended ↑").click()
    expect(rows.first).to_contain_text("mail-003")


def test_what_is_in_an_id_or_a_payload_is_found(open_page: Open, url: str) -> None:
    page = open_page(url)
    rows = page.locator("#list tbody tr")
    page.get_by_label("Search by").select_option("Id or payload has")
    page.get_by_label("Search", exact=True).fill("XYZ01")
    expect(rows).to_have_count(10)
    page.get_by_label("Search", exact=True).fill('"item":50')
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("sale-50")
    page.reload()
    expect(rows).to_have_count(1)
    expect(page.get_by_label("Search by")).to_have_value("text")


def test_a_row_tells_the_error_or_the_payload(open_page: Open, url: str) -> None:
    page = open_page(url, viewport={"width": 1440, "height": 900})
    expect(page.locator("#list tr[data-id=sale-45] .more")).to_have_text('{"item":45}')
    tab(page, "Failed").click()
    expect(page.locator("#list tr[data-id=mail-003] .more")).to_have_text(
        "CardDeclined: the bank declined the card"
    )
    expect(tab(page, "Done")).to_contain_text("54")
    expect(tab(page, "Paused")).to_contain_text("1")
