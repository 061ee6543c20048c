"""Tasks are held against what the worker says of itself, before they are stored."""

import dataclasses
import logging
from datetime import timedelta

import boto3
import pydantic
import pytest

from duebell import DoubtfulPayload, Editor, InvalidTask, TaskNotFound, UnknownAction, Worker
from duebell_shared.backend import Backend
from duebell_shared.settings import Settings
from tests.support import Calls, Clock
from tests.worker.hooks import Hooks

HOUR = timedelta(hours=1)


@dataclasses.dataclass
class Sale:
    item: int


@pytest.fixture
def worker(backend: Backend) -> Worker:
    """A worker that made itself known."""
    worker = Worker(backend=backend)
    worker.action("put_on_sale")(put_on_sale)
    worker.action("tick")(lambda: None)
    worker.register()
    return worker


def put_on_sale(sale: Sale) -> None: ...


@pytest.fixture
def strict(session: boto3.Session, clock: Clock) -> Editor:
    settings = Settings.from_env({"DUEBELL_STRICT_ACTIONS": "on"})
    return Editor(backend=Backend.connect(settings, session, clock=clock, sleep=clock.sleep))


@pytest.mark.usefixtures("worker")
@pytest.mark.filterwarnings("error")
def test_a_task_that_fits_is_stored_without_a_word(editor: Editor) -> None:
    editor.add("put_on_sale", due=HOUR, payload={"item": 1})
    editor.add("put_on_sale", due=HOUR, payload=Sale(1))
    editor.add("tick", due=HOUR, payload={"whatever": 1})
    editor.add("duebell.verify", due=HOUR)


@pytest.mark.usefixtures("worker")
def test_an_action_that_no_worker_has_is_warned_of_where_it_is_added(editor: Editor) -> None:
    with pytest.warns(
        UnknownAction,
        match=r"no action 'put_on_sail': did you mean put_on_sale\? If the name is right, deploy a",
    ) as told:
        task = editor.add("put_on_sail", due=HOUR)
    assert told[0].filename == __file__
    assert editor.get(task.id) == task
    with pytest.warns(UnknownAction, match="'x'"):
        assert len(editor.add_many([{"action": "x", "due": HOUR}]).added) == 1


@pytest.mark.usefixtures("worker")
def test_with_strict_actions_it_is_refused_before_anything_is_written(strict: Editor) -> None:
    with pytest.raises(InvalidTask, match=r"^action: the worker has no action 'put_on_sail': did you mean"):
        strict.add("put_on_sail", due=HOUR, id="a")
    with pytest.raises(
        InvalidTask, match=r"^tasks\[1\].action: the worker has no action 'x': deploy a worker"
    ):
        strict.add_many([{"action": "tick", "due": HOUR, "id": "b"}, {"action": "x", "due": HOUR}])
    for id in ("a", "b"):
        with pytest.raises(TaskNotFound):
            strict.get(id)
    strict.add("tick", due=HOUR)


@pytest.mark.usefixtures("worker")
def test_a_payload_that_does_not_fit_is_refused_by_its_field(editor: Editor) -> None:
    with pytest.raises(InvalidTask, match=r"whole number, for the action 'put_on_sale'$") as raised:
        editor.add("put_on_sale", due=HOUR, payload={"item": "1"}, id="a")
    assert raised.value.field == "payload.item"
    with pytest.raises(InvalidTask, match=r"^tasks\[0\].payload.item: is missing"):
        editor.add_many([{"action": "put_on_sale", "due": HOUR, "id": "a"}])
    with pytest.raises(TaskNotFound):
        editor.get("a")


def test_what_a_type_may_convert_is_a_warning(editor: Editor, strict: Editor, worker: Worker) -> None:
    class Order(pydantic.BaseModel):
        item: int

    @worker.action("order")
    def order(payload: Order) -> None: ...

    worker.register()
    with pytest.warns(DoubtfulPayload, match=r"payload.item: must be a whole number, for the action 'order'"):
        task = editor.add("order", due=timedelta(0), payload={"item": "42"}, id="a")
    assert worker.run().done == 1
    with pytest.raises(InvalidTask, match=r"^payload.item: must be a whole number"):
        strict.add("order", due=HOUR, payload={"item": "42"})
    # And nothing is said of one that fits
    strict.add("order", due=HOUR, payload={"item": 42})
    assert task.payload == {"item": "42"}


@pytest.mark.usefixtures("worker")
def test_an_update_is_checked_by_what_it_makes_of_the_task(editor: Editor) -> None:
    editor.add("put_on_sale", due=HOUR, payload={"item": 1}, id="a")
    with pytest.raises(InvalidTask, match=r"^payload.item"):
        editor.update("a", payload={})
    with pytest.warns(UnknownAction):
        editor.update("a", action="gone")
    editor.update("a", action="tick", payload={})
    with pytest.raises(InvalidTask, match=r"^payload.item"):
        editor.update("a", action="put_on_sale")
    assert editor.get("a").action == "tick"
    # A change of neither is not checked
    editor.move("a", due=HOUR)


@pytest.mark.filterwarnings("error")
def test_a_version_that_was_just_deployed_is_seen_before_anything_is_refused(
    editor: Editor, strict: Editor, worker: Worker
) -> None:
    # Given editors that have read the worker this minute
    for one in (editor, strict):
        one.add("tick", due=HOUR)
    # When another version is started
    worker.action("new")(lambda: None)
    worker.register()
    # Then they know its actions
    editor.add("new", due=HOUR)
    strict.add("new", due=HOUR)


@pytest.mark.usefixtures("worker")
def test_an_unknown_action_costs_one_more_read(editor: Editor, calls: Calls) -> None:
    editor.add("tick", due=HOUR)
    calls.clear()
    with pytest.warns(UnknownAction):
        editor.add("gone", due=2 * HOUR)
    assert calls["GetItem"] == 2


@pytest.mark.usefixtures("worker")
@pytest.mark.filterwarnings("error")
def test_nothing_is_refused_when_the_worker_cannot_be_read(
    backend: Backend, aws: Hooks, caplog: pytest.LogCaptureFixture, clock: Clock
) -> None:
    editor = Editor(backend=backend)
    aws.refuse("dynamodb.GetItem", "AccessDeniedException", when=lambda body: '"worker"' in body)
    with caplog.at_level(logging.WARNING, "duebell.editor"):
        for _ in range(3):
            clock.advance(timedelta(minutes=1))
            editor.add("put_on_sale", due=HOUR, payload={"item": "x"})
            editor.add("gone", due=HOUR)
    assert [record.message[:36] for record in caplog.records] == 3 * ["actions and payloads are not checked"]
