"""The panel of a task says what follows it, what it still owes, and what could not be added."""

import re
from datetime import timedelta

import pytest
from playwright.sync_api import expect

from duebell_editor import Then
from duebell_shared.instants import utc_now
from duebell_shared.owing import paid, tried
from tests.page.conftest import Open
from tests.page.scene import Scene


def test_the_panel_says_what_follows_a_task(open_page: Open, url: str, scene: Scene) -> None:
    then = Then("send_invoice", {"order": 42}, timedelta(hours=1))
    scene.editor.add("charge", due=timedelta(days=1), id="charge-42", then=then, on_failed="tell_support")
    panel = open_page(f"{url}#task=charge-42").get_by_role("dialog", name="charge-42")

    expect(panel.get_by_text("When it is done").locator("+ dd")).to_have_text("send_invoice 1 h later")
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
    expect(follow_up).to_contain_text(re.compile(r"owed since .+: it is being added"))

    # Then it says why a try failed
    late = tried(owing, "AWS refused PutRule")
    assert scene.store.save(owing, late)
    page.reload()
    expect(follow_up).to_contain_text(re.compile(r"owed since .+: the last try failed: AWS refused PutRule"))

    # And that it can never be added
    assert scene.store.save(late, paid(late, "both ids are taken"))
    page.reload()
    expect(follow_up).to_have_text("could not be added: both ids are taken")


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (3600, "up to 1 h"),
        (5400, "up to 1 h 30 min"),
        (60, "up to 1 min"),
        (75, "up to 1 min 15 s"),
        (0.5, "up to 0.5 s"),
        (61.25, "up to 1 min 1.25 s"),
        (86400, "up to 1 day"),
    ],
)
def test_lengths_of_time_are_said_without_zeros(
    open_page: Open, url: str, scene: Scene, seconds: float, said: str
) -> None:
    scene.editor.add("x", due=timedelta(days=1), id="spread", spread=timedelta(seconds=seconds))
    panel = open_page(f"{url}#task=spread").get_by_role("dialog", name="spread")
    expect(panel.get_by_text("Spread", exact=True).locator("+ dd")).to_have_text(said)


def test_the_first_screen_tells_of_a_follow_up_that_is_owed_for_long(
    open_page: Open, url: str, scene: Scene
) -> None:
    # Given a task that is done, and AWS has refused its follow-up since
    scene.editor.add("charge", due=timedelta(days=1), id="charge-44", then=Then("send_invoice"))
    owing = scene.ran(scene.editor.get("charge-44"), utc_now() - timedelta(minutes=20))
    assert scene.store.save(owing, tried(owing, "AWS refused PutRule"))

    # Then that is the problem, and nothing is overdue
    page = open_page(url)
    problem = page.locator("#problems li[data-kind=owing]")
    expect(problem).to_contain_text("The task 'charge-44' has ended and owes its follow-up since")
    expect(problem).to_contain_text("the last try failed: AWS refused PutRule")
    expect(page.locator("#problems li[data-kind=overdue]")).to_have_count(0)
    expect(page.locator("#tile-overdue")).to_contain_text("0 overdue")
    expect(page.get_by_text("Follow-ups owed").locator("+ dd")).to_contain_text("1 task")

    # And its row says so, among those that are done
    row = open_page(f"{url}#status=done").locator("#list tbody tr[data-id=charge-44]")
    expect(row).to_contain_text("owes a follow-up")
