"""The problems of the queue and of the worker, in the page's own words, with what to press."""

import json
import re
from datetime import timedelta

import msgspec
from playwright.sync_api import expect

from duebell_editor import Failure, Problem, ProblemKind
from duebell_editor.http.answers import to_json
from duebell_editor.library.json_fields import status_fields
from duebell_shared.instants import utc_now
from duebell_shared.tasks.worker_record import WorkerDescription, WorkerRecord
from tests.page.conftest import Open
from tests.page.hands import press
from tests.page.scene import Scene
from tests.page.seen import fits, is_accessible
from tests.serving import serving

MINUTE = timedelta(minutes=1)


def test_problems_are_told_in_the_pages_own_words_with_what_to_press(open_page: Open, scene: Scene) -> None:
    scene.overdue("too-late", minutes=30)
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
    advice_only = {ProblemKind.SILENCE, ProblemKind.UNSEEN_DELIVERY, ProblemKind.UNSEEN_INTAKE}
    kinds = set(ProblemKind) - advice_only
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
    scene.overdue("too-late", minutes=8)
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
