"""Pages for operators: the messages of the dead-letter queues, changes with their authors, simulations."""

from datetime import timedelta
from typing import Any

import boto3
import msgspec
import pytest
from playwright.sync_api import expect

from duebell import Editor
from duebell_shared.aws.sqs import Sqs
from duebell_shared.settings import AuditTo, Settings
from tests.page.conftest import Open
from tests.page.reader import PHONE, asked, fits, is_accessible, says
from tests.page.scene import Scene
from tests.serving import serving

INTAKE = "duebell-intake"


@pytest.fixture
def with_queues(scene: Scene, session: boto3.Session, monkeypatch: pytest.MonkeyPatch) -> Editor:
    """The scene's editor with an intake queue and the dead-letter queues, all of them empty."""
    monkeypatch.setattr("duebell_editor.status.dead_letters._WAIT", 0)
    for queue in (INTAKE, f"{INTAKE}-dead-letters", "duebell-lost-rings", "duebell-failed-runs"):
        session.client("sqs").create_queue(QueueName=queue)
    scene.events.rule["Arn"] = "arn:aws:events:eu-central-1:123456789012:rule/duebell"
    backend = scene.editor._backend
    settings = msgspec.structs.replace(backend.settings, intake=INTAKE)
    return Editor(backend=msgspec.structs.replace(backend, settings=settings, sqs=Sqs(session.client)))


def send(session: boto3.Session, queue: str, *bodies: str, **attributes: str) -> None:
    sqs = session.client("sqs")
    texts: Any = {name: {"DataType": "String", "StringValue": text} for name, text in attributes.items()}
    for body in bodies:
        url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
        sqs.send_message(QueueUrl=url, MessageBody=body, MessageAttributes=texts)


def count(session: boto3.Session, queue: str) -> int:
    sqs: Any = session.client("sqs")
    return Sqs(lambda *_, **__: sqs).count(queue, region="eu-central-1", account="123456789012")


def test_dead_letters_are_sent_back_or_deleted(
    open_page: Open, with_queues: Editor, session: boto3.Session
) -> None:
    # Given a message that the intake could not take, and two runs that failed
    reason = {"duebell-field": "due", "duebell-reason": "must be a time"}
    send(session, f"{INTAKE}-dead-letters", '{"action": "x", "due": "soon"}', **reason)
    died = '{"responsePayload": {"errorType": "ImportError", "errorMessage": "no shop"}}'
    send(session, "duebell-failed-runs", died, "[]")
    with serving(with_queues) as url:
        page = open_page("about:blank", **PHONE)
        calls = asked(page, "dead-letters")
        page.goto(url)
        show = page.locator("#problems").get_by_role("button", name="Show the messages")
        expect(show).to_have_count(2)
        assert not calls
        # When they are shown, then each queue has its count, and each message its reason
        show.first.click()
        dialog = page.get_by_role("dialog", name="Dead letters")
        runs, intake = (
            dialog.get_by_role("region", name=name, exact=True) for name in ("failed-runs", "intake")
        )
        says(runs, "failed-runs: 2 messages", "ImportError: no shop")
        expect(intake).to_contain_text("due: must be a time")
        intake.get_by_text("Message", exact=True).click()
        expect(intake).to_contain_text('"due": "soon"')
        fits(page)
        is_accessible(page)
        # When both are deleted after a third came, then the third stays
        send(session, "duebell-failed-runs", "{}")
        runs.get_by_role("button", name="Delete").click()
        sure = page.get_by_role("dialog", name="Delete 2 messages?")
        is_accessible(page)
        sure.get_by_role("button", name="Delete 2 messages").click()
        expect(runs).to_contain_text("failed-runs: 1 message")
        assert count(session, "duebell-failed-runs") == 1
        # And the intake gets its message again, once that is confirmed
        intake.get_by_role("button", name="Send back").click()
        page.keyboard.press("Escape")
        assert count(session, INTAKE) == 0
        intake.get_by_role("button", name="Send back").click()
        page.get_by_role("button", name="Send back 1 message", exact=True).click()
        expect(intake).to_have_count(0)
        assert count(session, INTAKE) == 1


def test_a_read_only_page_shows_dead_letters_only(
    open_page: Open, with_queues: Editor, session: boto3.Session
) -> None:
    # Given no dead letters, then nothing of them is shown
    with serving(with_queues, read_only=True) as url:
        page = open_page(url)
        show = page.get_by_role("button", name="Show the messages")
        expect(page.locator("#problems")).to_contain_text("6 tasks failed")
        expect(show).to_have_count(0)
        # Given some, then they are shown, and nothing is offered that would change them
        send(session, "duebell-lost-rings", "{}")
        page.reload()
        show.click()
        rings = page.get_by_role("dialog").get_by_role("region", name="lost-rings", exact=True)
        expect(rings).to_contain_text("The message gives no reason.")
        expect(rings.get_by_role("button")).to_have_count(0)


def test_who_changed_what_is_listed(open_page: Open) -> None:
    # Given a table that keeps more changes than are read at once, the latest by two people
    editor = Scene(settings=Settings(audit=AuditTo.TABLE)).editor
    for n in range(99):
        editor.add("greet", due=timedelta(days=9), id=f"greeting-{n}")
    editor.acting_as("ann").pause("greeting-50")
    editor.acting_as("bob").move("greeting-51", due=timedelta(days=3))
    with serving(editor) as url:
        page = open_page("about:blank", **PHONE)
        calls = asked(page, "/audit")
        page.goto(url)
        page.get_by_role("button", name="Changes", exact=True).click()
        dialog = page.get_by_role("dialog", name="Changes")
        rows = dialog.locator("tbody tr")
        expect(rows).to_have_count(100)
        assert len(calls) == 1
        # Then the latest is the first
        says(rows.first, "bob", "move greeting-51")
        says(rows.nth(1), "pause greeting-50", "scheduled, then paused")
        fits(page)
        is_accessible(page)
        # And its task is a link away, and the way back too
        link = rows.nth(1).get_by_role("link")
        link.click()
        expect(page.get_by_role("dialog", name="greeting-50")).to_contain_text("paused")
        page.keyboard.press("Escape")
        expect(link).to_be_focused()
        # And those before are a press away
        dialog.get_by_role("button", name="Show more").click()
        expect(rows.last).to_contain_text("add greeting-0")
        expect(rows).to_have_count(101)
        expect(dialog.get_by_role("button", name="Show more")).to_have_count(0)


def test_what_will_happen_stands_beside_what_would(open_page: Open, url: str) -> None:
    page = open_page(url, **PHONE)
    page.get_by_role("button", name="Simulate", exact=True).click()
    dialog = page.get_by_role("dialog", name="Simulate")
    # As it is
    dialog.get_by_role("button", name="Simulate").click()
    table = dialog.get_by_role("table")
    expect(table.get_by_role("columnheader", name="As it is")).to_be_visible()
    expect(table.get_by_role("rowheader", name="Starts", exact=True)).to_be_visible()
    # And with a limit
    dialog.get_by_label("Limit this action").fill("charge")
    dialog.get_by_label("Attempts at a time").fill("0")
    dialog.get_by_role("button", name="Simulate").click()
    expect(table.get_by_role("columnheader", name="With the changes")).to_be_visible()
    fits(page)
    is_accessible(page)
