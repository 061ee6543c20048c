"""Undoing, and sending again: nothing is changed that was not meant, and nothing is there twice."""

from datetime import timedelta

from playwright.sync_api import Page, Route, expect

from tests.page.conftest import Open
from tests.page.hands import open_form, press
from tests.page.scene import Scene


def test_an_undone_cancel_takes_nobodys_place(open_page: Open, url: str, scene: Scene) -> None:
    # Given a task that was cancelled here, and another that someone has put in its place
    scene.editor.add("x", due=timedelta(days=1), payload="mine", id="taken")
    page = open_page(f"{url}#task=taken")
    press(page, "Cancel")
    expect(page.get_by_text("taken is cancelled")).to_be_visible()
    scene.editor.add("y", due=timedelta(days=2), payload="theirs", id="taken", if_exists="replace")
    # When that is undone, then theirs stays
    page.get_by_role("button", name="Undo").last.click()
    expect(page.get_by_text("This cannot be undone: taken was changed since")).to_be_visible()
    assert scene.editor.get("taken").payload == "theirs"


def test_a_task_whose_answer_was_lost_is_added_once(page: Page, scene: Scene) -> None:
    # Given a server whose answer to the first try never arrives
    tries: list[str] = []

    def lose_the_first(route: Route) -> None:
        tries.append(route.request.method)
        if len(tries) > 1:
            route.continue_()
        else:
            route.fetch()
            route.abort()

    page.route("**/api/tasks", lose_the_first)
    open_form(page)
    press(page, "Add")
    expect(page.get_by_text("The server does not answer").last).to_be_visible()
    # When it is sent again, then there is one
    press(page, "Add")
    expect(page.get_by_text("is added")).to_be_visible()
    assert len(tries) == 2
    assert len(scene.editor.list(action="greet").tasks) == 1


def test_an_undone_cancel_gives_the_priority_back(open_page: Open, url: str, scene: Scene) -> None:
    scene.editor.add("x", due=timedelta(days=1), priority=9, id="urgent")
    page = open_page(f"{url}#task=urgent")
    expect(page.get_by_text("Priority", exact=True)).to_be_visible()
    press(page, "Cancel")
    page.get_by_role("button", name="Undo").last.click()
    expect(page.get_by_text("Undone")).to_be_visible()
    assert scene.editor.get("urgent").priority == 9
