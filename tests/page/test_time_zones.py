"""The page offers the server's time zones, and says when the worker has others."""

import msgspec
from playwright.sync_api import expect

from duebell import LastRun
from duebell_shared.instants import utc_now
from duebell_shared.schedules.zones import zone_names
from tests.page.conftest import Open
from tests.page.hands import open_form
from tests.page.scene import Scene


def test_the_form_offers_the_time_zones_of_the_server(open_page: Open, url: str) -> None:
    page = open_page(url)
    open_form(page)
    expect(page.locator("#zones option")).to_have_count(len(zone_names()))
    names = page.locator("#zones option").evaluate_all("options => options.map(({ value }) => value)")
    assert names == sorted(zone_names())


def test_the_doctor_says_that_the_worker_has_other_time_zones(
    open_page: Open, url: str, scene: Scene
) -> None:
    record = scene.store.read_record()
    assert record
    run = LastRun(run="run-8", finished_at=utc_now(), tzdata="1999a")
    assert scene.store.swap_record(record, msgspec.structs.replace(record, last_run=run))
    page = open_page(url)
    rule = page.locator("#rule")
    expect(rule).to_contain_text("The rule rings")
    page.get_by_role("button", name="Check everything").click()
    problems = page.locator("#problems")
    expect(problems).to_contain_text("the worker's last run had those of 1999a")
    # And it stays when the rule is looked at again
    scene.rested(utc_now())
    expect(rule).to_contain_text("11 done")
    expect(problems).to_contain_text("1999a")
