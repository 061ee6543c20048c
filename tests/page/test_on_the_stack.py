"""The page before the embedded stack: what is added there really runs, and is seen to."""

import uuid

import pytest
from playwright.sync_api import expect

from duebell import Editor
from duebell_infra.local.stack import EmbeddedStack
from tests.e2e.support import PATIENCE
from tests.page.conftest import Open
from tests.page.reader import fill, open_form, press, tab
from tests.serving import serving


@pytest.mark.e2e
def test_a_task_that_is_added_on_the_page_is_seen_to_run(stack: EmbeddedStack, open_page: Open) -> None:
    id = f"page-{uuid.uuid4()}"
    editor = Editor(stack.settings, session=stack.session)
    with serving(editor) as url:
        # Given a page that shows a task as it was just added
        page = open_page(url)
        open_form(page)
        fill(page, action="succeed", due="2020-01-01T00:00:00", payload='{"word": "hello"}', id=id)
        expect(page.get_by_text("so it runs at once")).to_be_visible()
        press(page, "Add")
        expect(page.get_by_role("dialog")).to_be_hidden()
        page.goto(f"{url}#task={id}")  # the rule may ring any moment, and then it is not in the list any more
        panel = page.get_by_role("dialog")
        expect(panel.get_by_role("heading", name=id)).to_be_visible()
        # Then it is seen to be done without anything being touched
        expect(panel.get_by_text("done", exact=True)).to_be_visible(timeout=PATIENCE * 1000)
        page.keyboard.press("Escape")
        expect(page.locator("#list").get_by_text(id)).to_be_hidden()
        # And it is part of what has been
        tab(page, "Done").click()
        expect(page.locator("#list").get_by_text(id)).to_be_visible()
        expect(page.locator("#chart-note")).to_contain_text("done")
