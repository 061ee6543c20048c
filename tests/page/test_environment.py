"""The environment in the header: its name and place, in a colour of its own."""

from typing import Any

import msgspec
from playwright.sync_api import Locator, Page, expect

from duebell import Editor
from duebell_shared.settings import Color
from tests.page.conftest import Open
from tests.page.scene import Scene
from tests.page.seen import box, fits, is_accessible
from tests.serving import serving


def called(scene: Scene, **more: Any) -> Editor:
    backend = scene.editor._backend
    return Editor(
        backend=msgspec.structs.replace(backend, settings=msgspec.structs.replace(backend.settings, **more))
    )


def test_production_is_hard_to_mistake(open_page: Open, scene: Scene) -> None:
    with serving(called(scene, name="production", color=Color.RED)) as url:
        for path in ("", "schedules", "actions"):
            page = open_page(url + path)
            expect(page.locator("#environment")).to_contain_text("production")
            color = page.evaluate("getComputedStyle(document.documentElement).borderTopColor")
            assert color == "rgb(185, 28, 28)"


def test_without_a_colour_the_name_is_shown(page: Page) -> None:
    expect(page.locator("#environment")).to_have_text("duebell")
    assert page.evaluate("getComputedStyle(document.documentElement).borderTopWidth") == "0px"


def test_the_longest_name_covers_nothing(open_page: Open, scene: Scene) -> None:
    with serving(called(scene, name="m" * 60, color=Color.BLUE)) as url:
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


def test_every_colour_can_be_read(open_page: Open, scene: Scene) -> None:
    for color in (*Color, None):
        with serving(called(scene, color=color)) as url:
            page = open_page(url)
            expect(page.locator("#environment span")).to_be_visible()
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                is_accessible(page)
