"""The state of the rule, and the problems of the queue and the worker, with what to press."""

import re
from datetime import timedelta

import msgspec
from playwright.sync_api import Page, expect

from duebell import Failure, LastRun, LateRing
from duebell_shared.instants import utc_now
from duebell_shared.tasks.status import RetentionPolicy
from duebell_shared.tasks.worker_record import WorkerDescription, WorkerRecord
from tests.page.conftest import Open
from tests.page.hands import press
from tests.page.scene import Scene
from tests.page.seen import Held, asked, box, fits, is_accessible, says
from tests.serving import serving
from tests.shared.fake_events import FakeScheduler
from tests.support import Clock


def test_the_state_of_the_rule_is_a_line_behind_what_needs_attention(page: Page, scene: Scene) -> None:
    rule = page.locator("#rule")
    expect(rule.locator("#state")).to_contain_text(re.compile(r"^The rule rings .* in \d minutes"))
    says(rule, "11 done, 1 failed, 41 s late at most", scene.editor.status().expression)
    expect(page.locator("#problems")).to_contain_text("Needs attention")  # a task has failed
    # What needs attention comes first, then the failures, then what runs next, then the list
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
    assert len(looks) == 1
    # And what it found stays, whatever else is new
    scene.rested(utc_now() - timedelta(minutes=3))
    expect(rule).to_contain_text("3 minutes ago")
    expect(problems.locator("li")).to_have_count(2)


def test_the_verdict_is_that_of_the_status(open_page: Open) -> None:
    scene = Scene()
    task = scene.editor.add("x", due=timedelta(hours=1))
    with serving(scene.editor) as url:
        page = open_page(url)
        rule = page.locator("#rule")
        expect(rule).to_contain_text("Healthy")
        expect(rule).not_to_have_class(re.compile("ill"))
        # When a task has failed, then the doctor finds no more, and does not say healthy
        failed = task.failed(Failure(type="E", message=""), now=utc_now(), keep=RetentionPolicy())
        assert scene.store.save(task, failed)
        press(page, "Check everything")
        expect(page.locator("#problems")).to_contain_text("1 task failed")
        expect(rule).not_to_contain_text("Healthy")
        expect(rule).to_contain_text("Everything checked at")


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
