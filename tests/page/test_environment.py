"""The environment in the header: its name and place, and a label in a colour of its own."""

from typing import Any

import msgspec
from playwright.sync_api import Locator, Page, expect

from duebell import Editor
from duebell_shared.settings import Color
from tests.page.conftest import Open
from tests.page.scene import Scene
from tests.page.seen import box, fits, is_accessible, says
from tests.serving import serving


def called(scene: Scene, **more: Any) -> Editor:
    backend = scene.editor._backend
    return Editor(
        backend=msgspec.structs.replace(backend, settings=msgspec.structs.replace(backend.settings, **more))
    )


def test_production_is_hard_to_mistake(open_page: Open, scene: Scene) -> None:
    with serving(called(scene, name="s" * 60, label="production", color=Color.RED)) as url:
        for path in ("", "schedules", "actions"):
            page = open_page(url + path)
            badge = page.locator("#environment")
            says(badge, "production", "s" * 60)
            color = page.evaluate("getComputedStyle(document.documentElement).borderTopColor")
            assert color == "rgb(185, 28, 28)"
            # And on a phone, where the rest is cut first
            page.set_viewport_size({"width": 390, "height": 800})
            assert badge.locator(".label").evaluate("label => label.scrollWidth <= label.clientWidth")


def test_without_a_label_only_the_name_is_shown(page: Page) -> None:
    expect(page.locator("#environment")).to_have_text("duebell")
    assert page.evaluate("getComputedStyle(document.documentElement).borderTopWidth") == "0px"


def test_the_longest_label_covers_nothing(open_page: Open, scene: Scene) -> None:
    with serving(called(scene, name="a" * 30, label="m" * 32, color=Color.BLUE)) as url:
        page = open_page(url)
        label = page.locator("#environment .label")
        for width in (1440, 1024, 720, 390):
            page.set_viewport_size({"width": width, "height": 800})
            expect(label).to_be_visible()
            assert not overlaps(label, page.locator("header nav")), width
            assert not overlaps(label, page.locator("h1")), width
            fits(page)


def overlaps(one: Locator, other: Locator) -> bool:
    a, b = box(one), box(other)
    beside = a["x"] >= b["x"] + b["width"] or b["x"] >= a["x"] + a["width"]
    return not beside and a["y"] < b["y"] + b["height"] and b["y"] < a["y"] + a["height"]


def test_every_label_can_be_read(open_page: Open, scene: Scene) -> None:
    for color in (*Color, None):
        with serving(called(scene, label="production", color=color)) as url:
            page = open_page(url)
            expect(page.locator("#environment .label")).to_be_visible()
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                is_accessible(page)
