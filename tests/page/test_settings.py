"""Settings that change the page: a token, read only, and the name and colour of its environment."""

import re
from datetime import timedelta
from typing import Any

from playwright.sync_api import Locator, Page, expect

from duebell import Editor
from duebell_shared.settings import Color, Settings
from tests.page.conftest import Open
from tests.page.reader import PHONE, box, fits, is_accessible, press
from tests.page.scene import Scene
from tests.serving import serving


def called(**settings: Any) -> Editor:
    return Scene(settings=Settings(**settings)).editor


def test_production_is_hard_to_mistake(open_page: Open) -> None:
    with serving(called(name="production", color=Color.RED)) as url:
        for path in ("", "schedules", "actions"):
            page = open_page(url + path)
            expect(page.locator("#environment")).to_contain_text("production")
            color = page.evaluate("getComputedStyle(document.documentElement).borderTopColor")
            assert color == "rgb(185, 28, 28)"


def test_without_a_colour_the_name_is_shown(page: Page) -> None:
    expect(page.locator("#environment")).to_have_text("duebell")
    assert page.evaluate("getComputedStyle(document.documentElement).borderTopWidth") == "0px"


def test_the_longest_name_covers_nothing(open_page: Open) -> None:
    with serving(called(name="m" * 60, color=Color.BLUE)) as url:
        page = open_page(url)
        name = page.locator("#environment span")
        for width in (1440, 1024, 720, 390):
            page.set_viewport_size({"width": width, "height": 800})
            expect(name).to_be_visible()
            assert not overlaps(name, page.locator("header nav")), width
            assert not overlaps(name, page.locator("h1")), width
            fits(page)


def overlaps(one: Locator, other: Locator) -> bool:
    a, b = box(one), box(other)
    beside = a["x"] >= b["x"] + b["width"] or b["x"] >= a["x"] + a["width"]
    return not beside and a["y"] < b["y"] + b["height"] and b["y"] < a["y"] + a["height"]


def test_every_colour_can_be_read(open_page: Open) -> None:
    for color in (*Color, None):
        with serving(called(color=color)) as url:
            page = open_page(url)
            expect(page.locator("#environment span")).to_be_visible()
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                is_accessible(page)


#: Whatever changes something, by the words on its button; with a count, such as "Retry 6", but no tab.
CHANGING = re.compile(
    r"^(Add a task|Edit|Move|Pause|Resume|Run now|Retry|Cancel|Add again|Set the rule)( \d|$)"
)


def expect_no_changes(page: Page) -> None:
    expect(page.get_by_role("button", name=CHANGING)).to_have_count(0)
    expect(page.get_by_role("checkbox")).to_have_count(0)


def test_nothing_is_offered_that_would_be_refused(open_page: Open, scene: Scene) -> None:
    # Given tasks in every state, and a rule that could be mended
    scene.editor.add("x", due=timedelta(days=-1), id="over")
    scene.events.rule["ScheduleExpression"] = "cron(0 0 1 1 ? 2030)"
    with serving(scene.editor, read_only=True) as url:
        page = open_page(url, **PHONE)
        # It says so
        expect(page.locator("#read-only")).to_be_visible()
        expect(page.locator("#read-only")).to_contain_text("Read-only")
        expect(page.locator("#list")).to_be_visible()
        expect_no_changes(page)
        # And tasks can be looked at, with nothing to press
        for id in ("sale-50", "remind-7", "mail-003", "daily-report"):
            page.goto(f"{url}#task={id}")
            expect(page.get_by_role("heading", name="Details")).to_be_visible()
            expect_no_changes(page)
            page.keyboard.press("Escape")
        # And the doctor can be asked
        press(page, "Check everything", then="Everything checked at")
        expect(page.locator("#problems li")).not_to_have_count(0)
        fits(page)
        is_accessible(page)
        expect_no_changes(page)


def test_a_token_is_asked_for_and_kept_out_of_the_address(open_page: Open, scene: Scene) -> None:
    with serving(scene.editor, token="secret-secret-secret") as url:
        page = open_page(url)
        page.locator("[name=token]").fill("secret-secret-wrong!")
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_text("The token is wrong.")).to_be_visible()
        page.locator("[name=token]").fill("secret-secret-secret")
        page.get_by_role("button", name="Continue").click()
        expect(page.locator("#list tbody tr").first).to_be_visible()
        page = open_page(f"{url}#token=secret-secret-secret")
        expect(page.locator("#list tbody tr").first).to_be_visible()
        assert "secret" not in page.url
