"""The timeline: what is coming and what has been, and how the list follows it."""

import itertools
import re
from datetime import datetime, timedelta

import msgspec
from playwright.sync_api import Locator, Page, expect

from duebell import Failure
from duebell_shared.instants import utc_now
from tests.page.conftest import Open
from tests.page.hands import press
from tests.page.scene import Scene
from tests.page.seen import BERLIN, PHONE, asked, box
from tests.serving import serving


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
    late = scene.editor.add("x", due=timedelta(minutes=1), id="late")
    due = utc_now() - timedelta(hours=3)
    assert scene.store.save(late, msgspec.structs.replace(late, due=due, queued=due, rev=late.rev + 1))
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
