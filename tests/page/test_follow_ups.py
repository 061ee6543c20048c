"""The panel of a task says what follows it, what it still owes, and what could not be added."""

from datetime import timedelta

from msgspec.structs import replace
from playwright.sync_api import expect

from duebell_editor import Then
from duebell_shared.instants import utc_now
from duebell_shared.owing import paid
from tests.page.conftest import Open
from tests.page.scene import Scene


def test_the_panel_says_what_follows_a_task(open_page: Open, url: str, scene: Scene) -> None:
    then = Then("send_invoice", {"order": 42}, timedelta(hours=1))
    scene.editor.add("charge", due=timedelta(days=1), id="charge-42", then=then, on_failed="tell_support")
    panel = open_page(f"{url}#task=charge-42").get_by_role("dialog", name="charge-42")

    expect(panel.get_by_text("When it is done").locator("+ dd")).to_have_text(
        "send_invoice 1 h 00 min 00 s later"
    )
    expect(panel.get_by_text("When it has failed").locator("+ dd")).to_have_text("tell_support")
    expect(panel.get_by_text("Follow-up", exact=True)).to_have_count(0)


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
    expect(follow_up).to_have_text("is being added")

    # Then it says so when that can never be added
    refused = paid(owing, "both ids are taken")
    assert scene.store.save(owing, replace(refused, rev=owing.rev + 1))
    page.reload()
    expect(follow_up).to_have_text("could not be added: both ids are taken")
