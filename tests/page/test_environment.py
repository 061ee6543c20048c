"""The environment in the header: its name and place, and a label in a colour of its own."""

from dataclasses import replace
from typing import Any, Literal

import msgspec
import pytest
from playwright.sync_api import Page, expect

from duebell import Editor
from duebell_shared.settings import Color
from tests.page.conftest import Open
from tests.page.scene import Scene
from tests.serving import serving

#: WCAG 2.1, success criterion 1.4.3: of text, level AA.
LEAST_CONTRAST = 4.5


def called(scene: Scene, **more: Any) -> Editor:
    backend = scene.editor._backend
    return Editor(backend=replace(backend, settings=msgspec.structs.replace(backend.settings, **more)))


def test_production_is_hard_to_mistake(open_page: Open, scene: Scene) -> None:
    with serving(called(scene, name="sales", label="production", color=Color.RED)) as url:
        for path in ("", "schedules", "actions"):
            page = open_page(url + path)
            badge = page.locator("#environment")
            expect(badge).to_contain_text("production")
            expect(badge).to_contain_text("sales")
            color = page.evaluate("getComputedStyle(document.documentElement).borderTopColor")
            assert color == "rgb(185, 28, 28)"


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
            boxes = [one.bounding_box() for one in (label, page.locator("header nav"), page.locator("h1"))]
            one, nav, heading = ((box["x"], box["y"], box["width"], box["height"]) for box in boxes if box)
            assert not overlaps(one, nav), width
            assert not overlaps(one, heading), width
            assert one[0] + one[2] <= width


Box = tuple[float, float, float, float]


def overlaps(one: Box, other: Box) -> bool:
    x, y, width, height = one
    return (
        x < other[0] + other[2] and other[0] < x + width and y < other[1] + other[3] and other[1] < y + height
    )


@pytest.mark.parametrize("color", [*Color, None])
def test_every_label_can_be_read(open_page: Open, scene: Scene, color: Color | None) -> None:
    with serving(called(scene, label="production", color=color)) as url:
        page = open_page(url)
        label = page.locator("#environment .label")
        expect(label).to_be_visible()
        schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
        for scheme in schemes:
            page.emulate_media(color_scheme=scheme)
            text, ground = label.evaluate(
                "one => [getComputedStyle(one).color, getComputedStyle(one).backgroundColor]"
            )
            assert contrast(text, ground) >= LEAST_CONTRAST, (scheme, text, ground)


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, `rgb(1, 2, 3)`. https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio"""
    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def luminance(color: str) -> float:
    red, green, blue = (linear(int(part) / 255) for part in color[4:-1].split(","))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
