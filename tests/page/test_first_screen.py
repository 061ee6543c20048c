"""The first screen: is it armed, what failed, what is late, what runs tonight, and the timeline of both."""

import itertools
import re
from datetime import datetime, timedelta

import msgspec
from playwright.sync_api import Locator, Page, expect

from duebell import Failure, LastRun, LateRing, Status
from duebell_shared.instants import utc_now
from duebell_shared.tasks.worker_record import WorkerDescription, WorkerRecord
from tests.page.conftest import Open
from tests.page.reader import BERLIN, PHONE, Held, asked, box, fits, is_accessible, press, says, tab
from tests.page.scene import Scene
from tests.serving import serving
from tests.shared.fake_events import FakeScheduler
from tests.support import Clock

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


def test_the_state_of_the_rule_is_a_line_behind_what_needs_attention(page: Page, scene: Scene) -> None:
    rule = page.locator("#rule")
    expect(rule.locator("#state")).to_contain_text(re.compile(r"^The rule rings .* in \d minutes"))
    says(rule, "11 done, 1 failed, 41 s late at most", scene.editor.status().expression)
    expect(page.locator("#problems")).to_contain_text("Needs attention")  # a task has failed
    # The order is: problems, failures, the next runs, the list
    shown = page.locator("main section").evaluate_all("all => all.map(({ id }) => id)")
    assert shown == ["problems", "failures", "rule", "timeline", "tasks"]
    size = "one => parseFloat(getComputedStyle(one).fontSize)"
    assert rule.locator("#state").evaluate(size) < page.locator("#problems h2").evaluate(size)


def changed(scene: Scene, **changes: object) -> None:
    """The arming record, as others left it."""
    record = scene.store.read_record()
    assert record
    assert scene.store.swap_record(record, msgspec.structs.replace(record, **changes))


def test_a_ring_that_was_lost_is_told_for_a_week(page: Page, scene: Scene) -> None:
    told = page.locator("#rule").get_by_text("lost; its echo came at")
    for days, count in ((8, 0), (6, 1)):
        came_at = utc_now() - timedelta(days=days)
        changed(scene, late_ring=LateRing(minute=came_at - timedelta(minutes=4), came_at=came_at))
        page.reload()
        expect(page.locator("#rule")).to_contain_text("Last run")
        expect(told).to_have_count(count)


def test_what_the_doctor_found_stays_until_the_next_look(open_page: Open, url: str, scene: Scene) -> None:
    # Given a worker with other time zones, and a page that promises no more than it knows
    run = LastRun(run="run-8", finished_at=utc_now(), done=2, tzdata="2021a")
    changed(scene, last_run=run)
    page = open_page(url)
    rule, problems = page.locator("#rule"), page.locator("#problems")
    expect(rule).to_contain_text("Last run")
    expect(problems.locator("li")).to_have_count(1)  # what failed
    # When the doctor is asked, then it is seen to look, and cannot be asked twice
    looks = asked(page, "/api/doctor")
    held = Held(page, "**/api/doctor")
    page.get_by_role("button", name="Check everything").click()
    looking = page.get_by_role("button", name="Checking…")
    expect(looking).to_be_disabled()
    expect(looking).to_have_attribute("aria-busy", "true")
    expect(looking).to_be_focused()
    page.keyboard.press("Enter")
    held.let_go()
    expect(problems.locator("li")).to_have_count(2)
    expect(problems).to_contain_text("gives the worker the release from here")
    expect(rule).to_contain_text(re.compile(r"Everything checked at \d\d:\d\d"))
    expect(rule).not_to_contain_text("Healthy")
    assert len(looks) == 1
    # And what it found stays, whatever else is new
    scene.rested(utc_now() - timedelta(minutes=3))
    expect(rule).to_contain_text("3 minutes ago")
    expect(problems.locator("li")).to_have_count(2)


def test_a_rule_that_is_not_heard_of_says_since_when(open_page: Open, scene: Scene) -> None:
    with serving(scene.editor) as url:
        page = open_page(url)
        rule = page.locator("#rule")
        expect(rule).to_contain_text("The rule rings")
        expect(page.locator("#list tbody tr").first).to_be_visible()
    # When the server is away, then it does not count on as if nothing were
    expect(rule).to_contain_text(re.compile(r"As of \d\d:\d\d: The rule rings"))
    expect(rule).to_have_class(re.compile("lost"))
    # And that is said where the reader is
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    expect(page.get_by_role("alert")).to_contain_text("is tried again")
    expect(page.get_by_role("alert")).to_be_in_viewport()


def test_a_schedule_is_named_where_the_rule_would_be(open_page: Open) -> None:
    # Given a scheduler whose bell is a schedule
    scene = Scene(events=FakeScheduler(Clock()))
    with serving(scene.editor) as url:
        page = open_page(url)
        rule = page.locator("#rule")
        expect(rule).to_contain_text("the schedule is parked")
        expect(rule.locator(".name")).to_contain_text("duebellcron(0 0 1 1 ? 2199) UTC")
        # When somebody else changes it, then that is said of the schedule, and it is set right by that name
        scene.editor.add("act", due=timedelta(hours=1), id="a")
        scene.events.rule["ScheduleExpression"] = "rate(1 day)"
        page.reload()
        expect(page.locator("#problems")).to_contain_text("something other than duebell changed it")
        page.get_by_role("button", name="Set the schedule").click()
        expect(page.locator("#problems")).to_be_hidden()
        expect(rule).to_contain_text("starts up to two minutes later")
        scene.events.rule["State"] = "DISABLED"
        page.reload()
        expect(rule).to_contain_text("The schedule is disabled. Nothing runs until that is repaired.")
        expect(rule).not_to_contain_text("starts up to two minutes later")


MINUTE = timedelta(minutes=1)


def test_problems_are_told_with_what_to_do_and_what_to_press(open_page: Open, scene: Scene) -> None:
    scene.overdue("too-late", minutes=30)
    scene.events.rule["ScheduleExpression"] = "cron(0 0 1 1 ? 2030)"
    with serving(scene.editor) as url:
        page = open_page(url, viewport={"width": 1024, "height": 768})
        problems = page.locator("#problems")
        expect(problems.locator("li")).to_have_count(3)
        expect(problems).to_contain_text(re.compile("Tasks are overdue, the first since (today|yesterday)"))
        # Then there is the command, and no time of another zone
        said = problems.text_content() or ""
        expect(problems.locator("code").first).to_have_text("duebell doctor --fix")
        assert not re.search(r"`|\dZ", said), said
        # And each is told over the whole width
        for line in problems.locator("li").all():
            assert box(line)["width"] > box(problems)["width"] * 0.9
        is_accessible(page)
        fits(page)
        problems.get_by_role("button", name="Set the rule").click()
        expect(problems.locator("li")).to_have_count(2)


def test_a_worker_that_cannot_start_is_told_with_what_follows_from_it(
    open_page: Open, url: str, scene: Scene
) -> None:
    error = Failure(type="ModuleNotFoundError", message="No module named 'payloads'", traceback="File …")
    at = utc_now() - 9 * MINUTE
    worker = WorkerDescription(
        version="8f14e45f", duebell="0.1.0", python="3.13.2", tzdata="2026f", started_at=at, error=error
    )
    assert scene.store.swap(None, WorkerRecord(worker=worker))
    scene.overdue("too-late", minutes=8)
    page = open_page(url)
    told = page.locator("#problems li")
    expect(told).to_have_count(3)
    expect(told.first).to_contain_text("ModuleNotFoundError: No module named 'payloads'")
    # Then nothing is offered to press that would not help
    expect(told.nth(1)).to_contain_text("It follows from the first problem.")
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
        expect(page.locator("#state")).to_contain_text(re.compile(r"should have rung .* 5 minutes ago"))
        expect(page.locator("#rule")).not_to_contain_text("any moment")


def test_a_bar_filters_the_list(page: Page, url: str, scene: Scene) -> None:
    expect(page.locator("#list tbody tr").first).to_be_visible()
    everything = page.locator("#list tbody tr").count()
    bar = page.locator("#chart button:has(.waiting):not(:has(.done, .failed))").nth(1)
    bar.click()
    expect(page.locator("#chart-note")).to_contain_text("The list below shows")
    expect(page.locator("#list tbody tr")).not_to_have_count(everything)
    # And goes on saying so, whatever changes meanwhile
    with page.expect_response(lambda response: "/api/timeline" in response.url):
        start = datetime.fromisoformat(bar.get_attribute("data-key") or "")
        scene.editor.add("x", due=start + timedelta(minutes=30))
    page.get_by_role("button", name="Zoom in to this hour").click()
    expect(page.locator("#chart button")).to_have_count(60)
    page.get_by_label("When").select_option("Any time")
    expect(page.locator("#chart-note")).not_to_contain_text("The list below shows")
    expect(page.locator("#list tbody tr")).to_have_count(everything + 1)


def test_what_has_been_and_what_comes_are_one_strip_with_now_in_the_middle(
    open_page: Open, url: str, scene: Scene
) -> None:
    # Given a task an hour, besides those of the scene, and one that is late
    scene.kept_up("hourly-sync", "rate(1 hour)", since=utc_now() - timedelta(hours=30, minutes=10))
    scene.overdue("late", minutes=180)
    # When the page is opened
    page = open_page(url)
    bars = page.locator("#chart button")
    expect(bars).to_have_count(48)
    # Then now is in the middle, and all that was and comes is there in its colour
    expect(bars.nth(24).locator(".now")).to_be_visible()
    expect(page.locator("#chart .now")).to_have_count(1)
    expect(page.locator("#chart-note")).to_contain_text(
        re.compile(r"\d+ done, \d failed, 1 late, \d+ to run")
    )
    expect(page.locator("#chart button:has(.late)")).to_have_attribute("aria-label", re.compile("1 late"))
    coming = [bars.nth(number) for number in range(25, 48)]
    assert all("to run" in (bar.get_attribute("aria-label") or "") for bar in coming)  # hourly-sync at least
    # And a click on the late one shows it
    page.locator("#chart button:has(.late)").click()
    expect(page.locator("#list").get_by_role("button", name="late", exact=True)).to_be_visible()
    # And a later time of the recurring one is said to be listed elsewhere
    bars.nth(40).click()
    expect(page.locator("#chart-note")).to_contain_text("such a task is listed at its next time")


def test_a_past_bar_lists_whatever_ended_then(page: Page, rows: Locator, scene: Scene) -> None:
    # Given an hour in which some were done and some failed
    both = page.locator("#chart button:has(.piece.done):has(.piece.failed):not(:has(.waiting))").last
    # When it is picked
    both.click()
    # Then all of them are listed, under the name of what is shown, and what is not listed is said
    expect(rows.filter(has_text="done").first).to_be_visible()
    expect(rows.filter(has_text="the bank declined the card").first).to_be_visible()
    expect(page.locator("#list thead")).to_contain_text("Ended")
    expect(page.locator("#chart-note")).to_contain_text("they are listed with their task")
    expect(both).to_have_attribute("aria-pressed", "true")


def test_what_ends_elsewhere_comes_into_view_but_not_at_every_change(open_page: Open, scene: Scene) -> None:
    with serving(scene.editor) as url:
        # Given the past, in a page whose time can be moved on
        page = open_page("about:blank")
        page.clock.install()
        page.goto(url)
        expect(page.locator("#list tbody tr").first).to_be_visible()
        page.clock.pause_at(utc_now() + timedelta(minutes=1))
        looks = asked(page, "/api/history")
        press(page, "Now")
        expect(page.locator("#chart-note")).to_contain_text("6 failed")
        # When a run ends elsewhere
        task = scene.editor.add("send_mail", due=timedelta(days=400), id="mail-late")
        failure = Failure(type="Late", message="too late")
        scene.ran(task, utc_now() - timedelta(minutes=2), failure=failure)
        scene.rested(utc_now() - timedelta(minutes=9))
        expect(page.locator("#rule")).to_contain_text(re.compile(r"\b(9|10|11) minutes ago"))
        page.clock.run_for(5_000)
        # Then history is not read through again at once
        assert len(looks) == 1
        # But when some time has passed
        page.clock.fast_forward(16_000)
        expect(page.locator("#chart-note")).to_contain_text("7 failed")
        assert len(looks) == 2


def test_an_hour_on_a_phone_has_bars_that_can_be_hit(open_page: Open, url: str, scene: Scene) -> None:
    # Given two tasks in two minutes that begin with an even one, as the page's first bars do
    now = datetime.now(BERLIN)
    page = open_page(url, **PHONE)
    everything = page.locator("#list tbody tr")
    expect(everything.first).to_be_visible()
    # When the hour is shown
    page.get_by_role("button", name="Hour").click()
    # Then each bar is of two minutes, and wide enough
    bars = page.locator("#chart button")
    expect(bars).to_have_count(30)
    assert box(bars.first)["width"] >= 9
    # And picks both of them
    key = bars.nth(25).get_attribute("data-key") or ""
    start = datetime.fromisoformat(key)
    bar = page.locator(f'#chart button[data-key="{key}"]')
    for minutes in (0, 1):
        scene.editor.add("both", due=start + timedelta(minutes=minutes, seconds=30), id=f"both-{minutes}")
    assert start > now
    expect(bar).to_have_attribute("aria-label", re.compile("to .*: [2-9] to run"))
    bar.click()
    expect(page.locator("#list").get_by_text("both-0")).to_be_visible()
    expect(page.locator("#list").get_by_text("both-1")).to_be_visible()


def test_the_time_is_labelled_on_a_phone_too(open_page: Open, url: str) -> None:
    page = open_page(url, **PHONE, timezone_id="Asia/Kolkata")
    for zoom in ("Hour", "Day", "Month"):
        press(page, zoom)
        expect(page.get_by_role("button", name=zoom, exact=True)).to_have_attribute("aria-pressed", "true")
        expect(page.locator("#chart .tick").nth(2)).to_be_attached()
        # And no label stands out of the chart, or in the next one; measured at one moment, as it is redrawn
        ends, edge = page.evaluate(
            """() => {
                const place = (one) => [one.getBoundingClientRect().left, one.getBoundingClientRect().right];
                return [[...document.querySelectorAll("#chart .tick")].map(place), place(chart)[1]];
            }"""
        )
        assert all(right < left for (_, right), (left, _) in itertools.pairwise(ends)), ends
        assert ends[-1][1] <= edge
