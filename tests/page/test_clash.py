"""Two who change the same task: what the other did is shown, and nothing that was typed is lost."""

from datetime import timedelta

from playwright.sync_api import Locator, Page, expect

from tests.page.conftest import Open
from tests.page.hands import field, fill, press, show
from tests.page.scene import Scene
from tests.page.seen import says


def row(page: Page, name: str) -> Locator:
    return page.locator(".clash tbody tr").filter(has=page.get_by_role("rowheader", name=name, exact=True))


def edit(page: Page, id: str) -> None:
    show(page, id)
    press(page, "Edit")


def test_what_another_changes_shows_up_while_one_writes(page: Page, scene: Scene) -> None:
    # Given someone who writes
    edit(page, "sale-45")
    field(page, "payload").fill('{"item": "mine"}')
    # When someone else changes the task
    scene.editor.update("sale-45", payload={"item": "theirs"}, action="sell")
    # Then it is said at once, field by field, and the writing goes on
    expect(page.get_by_text("was changed while you had it open")).to_be_visible()
    expect(row(page, "Payload").locator("td").nth(0)).to_contain_text("theirs")
    expect(row(page, "Payload").locator("td").nth(1)).to_contain_text("mine")
    says(row(page, "Action"), "sell", "not changed by you")
    expect(field(page, "payload")).to_be_focused()
    expect(field(page, "payload")).to_have_value('{"item": "mine"}')
    field(page, "payload").fill('{"item": "still mine"}')
    expect(row(page, "Payload").locator("td").nth(1)).to_contain_text("still mine")
    # And Keep mine writes what was changed here, and nothing else
    press(page, "Keep mine", then="sale-45 is changed")
    after = scene.editor.get("sale-45")
    assert (after.payload, after.action) == ({"item": "still mine"}, "sell")
    # And Undo goes back to theirs
    press(page, "Undo", then="Undone")
    assert scene.editor.get("sale-45").payload == {"item": "theirs"}


def test_a_change_that_comes_too_late_writes_nothing_until_the_reader_decides(
    open_page: Open, url: str, scene: Scene
) -> None:
    # Given a page that does not hear of changes, and a change elsewhere
    page = open_page("about:blank")
    page.route("**/api/changes*", lambda route: route.abort())
    page.goto(url)
    edit(page, "sale-45")
    field(page, "payload").fill('{"item": "mine"}')
    theirs = scene.editor.update("sale-45", payload={"item": "theirs"})
    # When it is saved
    press(page, "Save")
    # Then it is said, and has the focus
    expect(page.get_by_text("Nothing of yours is saved yet")).to_be_focused()
    assert scene.editor.get("sale-45").rev == theirs.rev
    expect(field(page, "payload")).to_have_value('{"item": "mine"}')
    # And when theirs is taken, nothing is left to save
    press(page, "Take theirs", then="nothing of yours was written")
    expect(page.get_by_role("dialog", name="Edit sale-45")).to_be_hidden()
    assert scene.editor.get("sale-45").rev == theirs.rev
    # And the focus is where it came from
    expect(page.get_by_role("button", name="Edit", exact=True)).to_be_focused()


def test_taking_theirs_leaves_what_else_was_typed(page: Page, scene: Scene) -> None:
    edit(page, "sale-45")
    fill(page, payload='{"item": "mine"}', action="my_action")
    scene.editor.update("sale-45", payload={"item": "theirs"})
    press(page, "Take theirs")
    # Theirs is in the form, and what they did not change is ours
    expect(field(page, "payload")).to_have_value('{\n  "item": "theirs"\n}')
    expect(field(page, "action")).to_have_value("my_action")
    press(page, "Save", then="sale-45 is changed")
    after = scene.editor.get("sale-45")
    assert (after.payload, after.action) == ({"item": "theirs"}, "my_action")


def test_what_is_over_cannot_be_written_any_more(page: Page, scene: Scene) -> None:
    edit(page, "sale-45")
    field(page, "payload").fill('{"item": "mine"}')
    scene.editor.cancel("sale-45")
    expect(page.get_by_text("This task is cancelled now, and cannot be changed any more")).to_be_visible()
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_hidden()
    expect(field(page, "payload")).to_have_value('{"item": "mine"}')


def test_a_move_of_what_was_changed_meanwhile_is_asked_for_again(page: Page, scene: Scene) -> None:
    show(page, "sale-50")
    press(page, "Move")
    field(page, "due").fill("2030-01-02T03:04:05")
    theirs = scene.editor.move("sale-50", due=timedelta(days=3))
    move = page.get_by_role("dialog", name="Move").get_by_role("button", name="Move", exact=True)
    move.click()
    expect(page.get_by_text("was changed meanwhile, and is not moved")).to_be_visible()
    assert scene.editor.get("sale-50").due == theirs.due
    move.click()
    expect(page.get_by_text("is now due 2 Jan 2030 03:04")).to_be_visible()
