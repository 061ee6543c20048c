"""The panel of a task says what follows it, what it still owes, and what could not be added."""

import re
from datetime import timedelta

from playwright.sync_api import Page, expect

from duebell import FollowUp, Then
from duebell_shared.instants import utc_now
from tests.page.conftest import Open
from tests.page.hands import field, fill, open_form, press, wrong
from tests.page.scene import Scene
from tests.page.seen import PHONE


def test_the_panel_says_that_a_follow_up_is_owed_and_when_it_could_not_be_added(
    open_page: Open, url: str, scene: Scene
) -> None:
    # Given a task that is done, and owes its follow-up
    scene.editor.add("charge", due=timedelta(days=1), id="charge-43", then=Then("send_invoice"))
    owing = scene.ran(scene.editor.get("charge-43"), utc_now())
    assert owing.owes
    page = open_page(f"{url}#task=charge-43")
    panel = page.get_by_role("dialog", name="charge-43")
    follow_up = panel.get_by_text("Follow-up", exact=True).locator("+ dd")
    expect(follow_up).to_contain_text(re.compile(r"owed since .+: it is being added"))

    # Then it says that it can never be added
    assert scene.store.save(owing, owing.follow_up_settled("both ids are taken"))
    page.reload()
    expect(follow_up).to_have_text("could not be added: both ids are taken")


def test_lengths_of_time_are_said_without_zeros(open_page: Open, url: str, scene: Scene) -> None:
    lengths = {3600: "1 h", 5400: "1 h 30 min", 75: "1 min 15 s", 61.25: "1 min 1.25 s", 86400: "1 day"}
    page = open_page(url)
    for seconds, said in lengths.items():
        id = f"spread-{seconds}"
        scene.editor.add("x", due=timedelta(days=1), id=id, spread=timedelta(seconds=seconds))
        page.goto(f"{url}#task={id}")
        panel = page.get_by_role("dialog", name=id, exact=True)
        expect(panel.get_by_text("Spread", exact=True).locator("+ dd")).to_have_text(said)


def test_the_first_screen_tells_of_a_follow_up_that_is_owed_for_long(
    open_page: Open, url: str, scene: Scene
) -> None:
    # Given a task that is done, and its follow-up could not be added since
    scene.editor.add("charge", due=timedelta(days=1), id="charge-44", then=Then("send_invoice"))
    scene.ran(scene.editor.get("charge-44"), utc_now() - timedelta(minutes=20))

    # Then that is the problem, and nothing is overdue
    page = open_page(url)
    problem = page.locator("#problems li[data-kind=owing]")
    expect(problem).to_contain_text("the first by 'charge-44' since")
    expect(page.locator("#problems li[data-kind=overdue]")).to_have_count(0)
    expect(page.locator("#tile-overdue")).to_contain_text("0 overdue")
    expect(page.get_by_text("Follow-ups owed").locator("+ dd")).to_contain_text("1 task")

    # And its row says so, among those that are done
    row = open_page(f"{url}#status=done").locator("#list tbody tr[data-id=charge-44]")
    expect(row).to_contain_text("owes a follow-up")


# The form.


def test_a_task_is_added_with_what_follows_it(open_page: Open, url: str, scene: Scene) -> None:
    # Given the form, in which what belongs to a follow-up is hidden until there is one
    page = open_page(url, **PHONE)
    open_form(page)
    fill(page, id="charge-50", on_failed="tell_support")
    expect(field(page, "then_after")).to_be_hidden()
    fill(page, then_action="send_invoice", then_after="3600")
    # When its payload is no JSON
    field(page, "then_payload").fill("{")
    press(page, "Add")
    # Then that is said, and it is added with another one, to the last digit
    expect(wrong(page, "then_payload")).to_contain_text("This is not JSON")
    expect(field(page, "then_payload")).to_be_focused()
    field(page, "then_payload").fill('{"order": 12345678901234567890}')
    press(page, "Add", then="charge-50 is added")
    task = scene.editor.get("charge-50")
    assert task.on_failed == "tell_support"
    assert task.then == FollowUp(
        action="send_invoice", payload_json='{"order":12345678901234567890}', after=timedelta(hours=1)
    )


def test_what_follows_a_task_can_be_changed_and_taken_away(open_page: Open, url: str, scene: Scene) -> None:
    given = {"order": 12345678901234567890}
    scene.editor.add("charge", due=timedelta(days=1), id="charge-52", then=Then("send_invoice", given))
    before = scene.editor.get("charge-52").then
    page = open_page(f"{url}#task=charge-52")
    panel = page.get_by_role("dialog", name="charge-52")

    def edit(**values: str) -> None:
        press(page, "Edit")
        page.get_by_text("More", exact=True).click()
        fill(page, **values)
        press(page, "Save")
        expect(page.get_by_role("dialog", name="Edit charge-52")).to_be_hidden()

    # When only the time after which it follows is changed, its payload stays as it is
    edit(then_after="60")
    expect(panel.get_by_text("When it is done").locator("+ dd")).to_have_text("send_invoice 1 min later")
    task = scene.editor.get("charge-52")
    assert before
    assert task.then == FollowUp(
        action="send_invoice", payload_json=before.payload_json, after=timedelta(minutes=1)
    )
    # And without an action nothing follows; undone, it does again
    edit(then_action="")
    expect(panel.get_by_text("When it is done")).to_have_count(0)
    assert scene.editor.get("charge-52").then is None
    press(page, "Undo")
    expect(panel.get_by_text("When it is done").locator("+ dd")).to_have_text("send_invoice 1 min later")
    assert scene.editor.get("charge-52").then == task.then


def test_a_task_that_is_there_already_is_put_off_or_replaced_from_the_form(page: Page, scene: Scene) -> None:
    first = scene.editor.add("greet", due=timedelta(minutes=30), id="index-1")
    scene.editor.add("charge", due=timedelta(minutes=30), id="index-2")
    open_form(page)
    expect(field(page, "max_wait")).to_be_hidden()
    field(page, "if_exists").select_option("push")
    press(page, "Add")
    expect(wrong(page, "id")).to_have_text("Give the id that may be there already.")
    # When it is put off to in an hour, by two hours at most, then there is nothing that could be undone
    fill(page, id="index-1", max_wait="7200")
    press(page, "Add", then="index-1 was there already, and is put off")
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)
    task = scene.editor.get("index-1")
    assert task.created_at == first.created_at
    assert task.due > first.due
    # And another is put in the place of one that is there
    open_form(page)
    field(page, "id").fill("index-2")
    field(page, "if_exists").select_option("replace")
    press(page, "Add", then="index-2 is put in the place of the one that was there")
    assert scene.editor.get("index-2").action == "greet"
