"""Takes the pictures of the page that the docs show: `python -m docs.page_screenshots`. Needs chromium."""

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

from playwright.sync_api import Page, sync_playwright
from tests.page.scene import Scene
from tests.serving import serving

from duebell_shared.instants import utc_now
from duebell_shared.settings import AuditTo, Settings

_FOLDER = Path(__file__).parent / "page"

_DESKTOP = {"viewport": {"width": 1280, "height": 960}}
_PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}


def main() -> None:
    """Take them all anew."""
    _FOLDER.mkdir(exist_ok=True)
    scene = Scene(settings=Settings(audit=AuditTo.TABLE))
    scene.furnish()
    now = utc_now()
    scene.kept_up(
        "settle-payments",
        "rate(1 hour)",
        since=now - timedelta(hours=21, minutes=20),
        fails_from=now - timedelta(hours=3),
    )
    for who, id in (("bob", "sale-51"), ("ann", "sale-50"), ("ann", "trial-expiry:XYZ004")):
        editor = scene.editor.acting_as(who)
        editor.resume(editor.pause(id).id)
    with serving(scene.editor) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-background-networking"]
        )

        def opened(**options: Any) -> Page:
            page = browser.new_page(locale="en-GB", timezone_id="Europe/Berlin", **options)
            page.goto(url)
            page.locator("#list tbody tr").first.wait_for()
            page.locator("#chart .piece").first.wait_for()
            return page

        opened(**_DESKTOP).screenshot(path=_FOLDER / "light.png")
        dark = opened(**_DESKTOP, color_scheme="dark")
        dark.get_by_role("button", name="Month", exact=True).click()
        dark.locator("#chart.day .piece.done").first.wait_for()
        dark.screenshot(path=_FOLDER / "dark.png")
        task = opened(**_DESKTOP, reduced_motion="reduce")
        task.get_by_role("button", name="daily-report", exact=True).click()
        task.get_by_role("heading", name="Past occurrences").wait_for()
        task.screenshot(path=_FOLDER / "task.png")
        changes = opened(**_DESKTOP, reduced_motion="reduce")
        changes.get_by_role("button", name="Changes", exact=True).click()
        changes.get_by_role("dialog").locator("tbody tr").first.wait_for()
        changes.screenshot(path=_FOLDER / "changes.png")
        schedules = opened(viewport={"width": 1280, "height": 480})
        schedules.get_by_role("link", name="Schedules").click()
        schedules.locator(".strip").first.wait_for()
        schedules.get_by_role("button", name="Actions of daily-report").click()
        schedules.screenshot(path=_FOLDER / "schedules.png")
        opened(**_PHONE, device_scale_factor=1.5).screenshot(path=_FOLDER / "phone.png")
        browser.close()


if __name__ == "__main__":
    with mock.patch("platform.node", return_value="shop-1"):
        main()
