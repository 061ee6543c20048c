"""The list: what is looked for, how far, and what stays when it is read again."""

import re
from datetime import datetime, timedelta

from playwright.sync_api import Locator, Page, expect

from tests.page.conftest import Open
from tests.page.reader import BERLIN, Held, is_accessible, press, says, tab
from tests.page.scene import Scene
from tests.serving import serving


def test_filters_by_status_action_and_id(open_page: Open, url: str) -> None:
    page = open_page(url)
    rows = page.locator("#list tbody tr")
    page.get_by_label("Action").fill("put_on_sale")
    expect(rows).to_have_count(15)
    page.get_by_label("Search", exact=True).fill("sale-5")
    expect(rows).to_have_count(5)
    page.get_by_label("Search", exact=True).fill("nope")
    page.get_by_role("button", name="Clear the filters").click()
    tab(page, "Paused").click()
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("remind-7")
    # And they stay when the page is loaded again, or its address is opened elsewhere
    page.reload()
    expect(tab(page, "Paused")).to_have_attribute("aria-pressed", "true")
    expect(rows).to_contain_text("remind-7")
    elsewhere = open_page(page.url)
    expect(elsewhere.locator("#list tbody tr")).to_contain_text("remind-7")


def test_filters_by_time(open_page: Open, url: str, scene: Scene) -> None:
    # Given tasks due soon, tomorrow and on the day after, in the viewer's zone
    now = datetime.now(BERLIN)
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    for name, hours in (("tomorrow", 24 + 15), ("after", 48 + 15)):
        scene.editor.add("x", due=today + timedelta(hours=hours), id=f"time-{name}")
    soon = min(now + timedelta(minutes=30), today + timedelta(hours=24, seconds=-1))
    scene.editor.add("x", due=soon, id="time-soon")
    page = open_page(url)
    rows = page.locator("#list tbody tr")
    page.get_by_label("Search", exact=True).fill("time-")
    expect(rows).to_have_count(3)
    when = page.get_by_label("When")
    for choice, shown in (("Next hour", "time-soon"), ("Tomorrow", "time-tomorrow")):
        when.select_option(choice)
        expect(rows).to_have_count(1)
        expect(rows).to_contain_text(shown)
    # When two moments are given, then what lies between is shown, up to the second and without it
    when.select_option("Between…")
    day = today + timedelta(days=2)
    page.get_by_label("from").fill(f"{day:%Y-%m-%d}T15:00")
    page.get_by_label("until").fill(f"{day:%Y-%m-%d}T15:01")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("time-after")
    page.get_by_label("until").fill(f"{day:%Y-%m-%d}T15:00")
    expect(page.locator("#list-note")).to_contain_text("No task fits")
    # And history has times of its own
    tab(page, "Done").click()
    page.get_by_label("Search", exact=True).fill("")
    when.select_option("Last hour")
    expect(rows).to_have_count(2)


def long_queue() -> Scene:
    """Twelve thousand tasks, with two of another kind far in."""
    scene = Scene()
    scene.fill(12_000)
    step = timedelta(days=10) / 12_000
    for name, at in (("near", 3_500), ("far", 8_000)):
        scene.editor.add("rare", due=timedelta(hours=1) + at * step, id=f"rare-{name}")
    return scene


def test_what_is_rare_in_a_long_queue_is_looked_for_further(open_page: Open) -> None:
    scene = long_queue()
    with serving(scene.editor) as url:
        page = open_page(url)
        rows, note = page.locator("#list tbody tr"), page.locator("#list-note")
        expect(rows).to_have_count(50)
        # When what is rare is asked for, then the page goes on by itself, and says so
        held = Held(page, "**/api/tasks?*cursor=*")
        page.get_by_label("Action").fill("rare")
        says(note, "1 task so far", "Looking further…")
        held.let_go()
        expect(rows).to_have_count(2)
        expect(note).to_contain_text("2 tasks, the whole list.")
        # When one of them is changed, then what was found far in is still there
        page.get_by_label("Select rare-near").check()
        with page.expect_response(lambda answer: "cursor" in answer.url):
            page.get_by_role("button", name="Run now").click()
            page.get_by_role("dialog").get_by_role("button", name="Run now 1 task").click()
        expect(note).to_contain_text("2 tasks, the whole list.")
        expect(rows.last).to_contain_text("rare-far")


def test_more_rows_and_ticks_stay_when_something_changes(open_page: Open) -> None:
    # Given three pages of rows, one of the last ticked
    scene = Scene()
    scene.fill(400)
    with serving(scene.editor) as url:
        page = open_page(url)
        rows = page.locator("#list tbody tr")
        for count in (50, 100, 150):
            expect(rows).to_have_count(count)
            # The next ones come when the end comes into sight
            page.locator("#list-note").scroll_into_view_if_needed()
        expect(rows).to_have_count(200)
        tick = page.get_by_label("Select trial-expiry:000120")
        tick.check()
        # When something changes elsewhere
        scene.editor.add("x", due=timedelta(minutes=30), id="from-elsewhere")
        # Then it is seen, with all that was there
        expect(rows.first).to_contain_text("from-elsewhere")
        expect(rows).to_have_count(200)
        expect(tick).to_be_checked()
        expect(page.locator("#bulk")).to_contain_text("1 task selected")


def test_what_is_not_in_the_queue_is_looked_for_among_the_finished(page: Page, rows: Locator) -> None:
    page.get_by_label("Action").fill("send_mail")
    page.get_by_role("button", name="Look among finished ones").click()
    expect(tab(page, "All ended")).to_have_attribute("aria-pressed", "true")
    expect(rows).to_have_count(50)
    expect(rows.filter(has_text="failed").first).to_be_visible()
    expect(rows.filter(has_text="done").first).to_be_visible()
    # The focus was not lost with the button
    expect(page.locator("#tasks")).to_be_focused()
    # And the last rows are told apart from those that came before
    page.get_by_role("button", name="Show more").press("Enter")
    expect(rows).to_have_count(60)
    expect(rows.nth(50).locator("button.link")).to_be_focused()


def test_a_list_that_cannot_be_read_says_so_where_it_is(open_page: Open) -> None:
    scene = Scene()
    scene.fill(200)
    with serving(scene.editor) as url:
        page = open_page(url)
        rows, note = page.locator("#list tbody tr"), page.locator("#list-note")
        expect(rows).to_have_count(50)
    # When more is asked for, and the server is away
    page.get_by_role("button", name="Show more").press("Enter")
    # Then what was there stays, with the way out
    expect(note).to_contain_text("50 tasks so far. The next ones cannot be shown: The server does not answer")
    expect(note.get_by_role("button", name="Try again")).to_be_focused()
    expect(rows).to_have_count(50)
    # And what does not fit the filters is not left there
    tab(page, "Paused").click()
    expect(note).to_contain_text("The tasks cannot be shown: The server does not answer")
    expect(note.get_by_role("button", name="Try again")).to_be_visible()
    expect(rows).to_have_count(0)


def test_words_that_stay_the_same_are_not_read_out_again(page: Page, scene: Scene) -> None:
    # Given someone who listens to what changes below the list and the bars, once history is there, too
    row = page.locator("#list tbody tr", has_text="sale-45")
    expect(row).to_contain_text("put_on_sale")
    expect(page.locator("#chart-note")).to_contain_text(re.compile("done.* to run"))
    page.evaluate(
        """() => {
          window.said = [];
          const heard = new MutationObserver((news) => said.push(...news.map((one) => one.target.id)));
          const all = { childList: true, characterData: true, subtree: true };
          for (const id of ["list-note", "chart-note"]) heard.observe(document.getElementById(id), all);
        }"""
    )
    # When a task changes, and the words are the same
    scene.editor.update("sale-45", action="changed_elsewhere")
    scene.editor.move("sale-40", due=scene.editor.get("sale-40").due + timedelta(seconds=1))
    expect(row).to_contain_text("changed_elsewhere")
    expect(page.locator("#tasks")).to_have_attribute("aria-busy", "false")
    # Then nothing is said
    assert page.evaluate("said") == []


def test_actions_and_tags_seen_before_are_suggested(open_page: Open, url: str, scene: Scene) -> None:
    scene.editor.add("x", due=timedelta(minutes=5), id="tagged", tags=["red"])
    page = open_page(url)
    page.get_by_label("Search by").select_option("Tag is")
    expect(page.locator("#tags option[value=red]")).to_be_attached()
    expect(page.get_by_label("Search", exact=True)).to_have_attribute("list", "tags")
    action = page.locator("#actions option[value=end_trial]")
    expect(action).to_be_attached()
    page.get_by_label("Action").fill("put_on_sale")
    expect(page.locator("#list tbody tr")).to_have_count(15)
    expect(action).to_be_attached()


def test_filters_are_kept_by_a_name_and_times_as_they_were_chosen(page: Page, rows: Locator) -> None:
    page.get_by_label("Action").fill("put_on_sale")
    press(page, "Keep view")
    page.locator("dialog [name=view]").fill("Sales")
    press(page, "Keep")
    page.reload()
    expect(page.get_by_label("Views")).to_have_value("Sales")
    page.get_by_label("Views").select_option("Views")
    expect(rows).to_have_count(47)
    page.get_by_label("Views").select_option("Sales")
    expect(rows).to_have_count(15)
    for choice, words in (("UTC", r"\d\d:\d\d UTC in \d+ minutes$"), ("Relative", r"^in \d+ minutes$")):
        page.get_by_label("Times").select_option(choice)
        expect(rows.first.locator("time")).to_have_text(re.compile(words))
        expect(page.get_by_label("Views")).to_have_value("Sales")
    is_accessible(page)
    press(page, "Delete view")
    expect(page.get_by_label("Views")).to_be_hidden()


def test_the_order_of_time_can_be_turned(page: Page, rows: Locator) -> None:
    expect(rows.first).to_contain_text("sale-40")
    page.get_by_role("button", name="Due ↑").click()
    expect(rows.first).to_contain_text("trial-expiry:XYZ029")
    expect(page.locator("#list th.due")).to_have_attribute("aria-sort", "descending")
    page.reload()
    expect(rows.first).to_contain_text("trial-expiry:XYZ029")
    tab(page, "Failed").click()
    expect(rows.first).to_contain_text("mail-058")
    page.get_by_role("button", name="Ended ↑").click()
    expect(rows.first).to_contain_text("mail-003")


def test_what_is_in_an_id_or_a_payload_is_found(page: Page, rows: Locator) -> None:
    page.get_by_label("Search by").select_option("Id or payload has")
    page.get_by_label("Search", exact=True).fill("XYZ01")
    expect(rows).to_have_count(10)
    page.get_by_label("Search", exact=True).fill('"item":50')
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("sale-50")
    page.reload()
    expect(rows).to_have_count(1)
    expect(page.get_by_label("Search by")).to_have_value("text")
