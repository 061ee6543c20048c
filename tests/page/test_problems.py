"""The problems of the queue and of the worker, in the words of the command line, with what to press."""

import re
from datetime import timedelta

import msgspec
from playwright.sync_api import expect

from duebell import Failure
from duebell_shared.instants import utc_now
from duebell_shared.tasks.worker_record import WorkerDescription, WorkerRecord
from tests.page.conftest import Open
from tests.page.scene import Scene
from tests.page.seen import fits, is_accessible
from tests.serving import serving

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
            words, whole = line.bounding_box(), problems.bounding_box()
            assert words
            assert whole
            assert words["width"] > whole["width"] * 0.9
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
