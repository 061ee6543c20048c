"""Deliveries are declared in code or by the environment, and the worker record tells of them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from duebell import Backoff, Editor, InvalidSettings, Worker
from duebell.testing import Rehearsal
from duebell_shared.backend import Backend
from duebell_worker import entry
from tests.deliveries.test_services import HOUR, make_queue, received
from tests.support import Clock
from tests.worker.starting import CONTEXT, forget

ROOT = Path(__file__).parents[2]
QUEUE = "arn:aws:sqs:eu-central-1:123456789012:orders"


def test_an_action_and_a_delivery_cannot_have_the_same_name(worker: Worker) -> None:
    worker.deliver("remind", to=QUEUE)
    with pytest.raises(ValueError, match="there is an action 'remind' already"):
        worker.deliver("remind", to=QUEUE)
    with pytest.raises(ValueError, match="there is an action 'remind' already"):
        worker.action("remind")(lambda: None)


def test_a_delivery_is_added_and_cannot_be_called(worker: Worker) -> None:
    remind = worker.deliver("remind", to=QUEUE)
    assert remind.using(due=HOUR).add({"user": 7}).payload == {"user": 7}
    with pytest.raises(TypeError, match=r"is sent when its task is due: add one, with `add`$"):
        remind({"user": 7})


def test_editors_know_what_an_action_is(worker: Worker, editor: Editor) -> None:
    worker.action("act")(lambda: None)
    worker.deliver("remind", to=QUEUE, attempts=7, backoff=Backoff(factor=3))
    worker.deliver("post", to="https://example.com/with/a/secret")
    worker.register()
    known = editor.worker()
    assert known
    assert [(one.name, one.kind, one.to, one.attempts) for one in known.actions] == [
        ("act", "function", None, 5),
        ("post", "https", "https://example.com", 5),
        ("remind", "queue", QUEUE, 7),
    ]
    remind = known.action("remind")
    assert remind
    assert remind.schema == {}  # any payload will do
    editor.add("remind", due=HOUR, payload=["any", 1])


def test_a_recurring_task_can_be_declared_for_a_delivery() -> None:
    worker = Worker()
    worker.recurring("rate(1 day)", id="daily", payload={"kind": "sales"})(worker.deliver("report", to=QUEUE))
    rehearsal = Rehearsal(worker)
    rehearsal.deploy()
    rehearsal.let_time_pass(49 * HOUR)
    sent = [(one.to, one.action, one.id, one.attempt, one.body) for one in rehearsal.delivered]
    assert sent == [(QUEUE, "report", "daily", 1, '{"kind":"sales"}')] * 2
    assert len({one.key for one in rehearsal.delivered}) == 2


def test_a_delivery_that_has_failed_for_good_is_given_to_another(
    worker: Worker, editor: Editor, clock: Clock
) -> None:
    # Given a delivery to a queue that does not exist, with a default for its failed tasks
    sqs, url, arn = make_queue("dead")
    worker.deliver("tell", to=QUEUE, on_failed="dead")
    worker.deliver("dead", to=arn)
    # When one such task is due, and one that says that nothing follows
    editor.add("tell", due=HOUR, id="a", payload={"user": 7})
    editor.add("tell", due=HOUR, id="b", on_failed="")
    clock.advance(HOUR)
    worker.run()
    # Then the other delivery has sent the failed one
    [message] = received(sqs, url)
    told = json.loads(message["Body"])
    assert (told["id"], told["action"], told["payload"]) == ("a", "tell", {"user": 7})


def test_the_environment_declares_deliveries_for_a_worker_without_code(
    backend: Backend, editor: Editor, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    sqs, url, arn = make_queue()
    monkeypatch.setattr(Backend, "connect", lambda *_: backend)
    monkeypatch.setenv("DUEBELL_WORKER", "")
    monkeypatch.setenv("DUEBELL_DELIVERIES", json.dumps({"remind": {"to": arn}}))
    editor.add("remind", due=HOUR, payload={"user": 7})
    clock.advance(HOUR)
    forget()
    try:
        assert entry.handler(None, CONTEXT)["done"] == 1
    finally:
        forget()
    assert [message["Body"] for message in received(sqs, url)] == ['{"user":7}']
    known = editor.worker()
    assert known
    assert [action.kind for action in known.actions] == ["queue"]


def test_what_the_environment_declares_wrongly_is_a_start_that_failed(
    backend: Backend, editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Backend, "connect", lambda *_: backend)
    monkeypatch.setenv("DUEBELL_DELIVERIES", '{"remind": {"to": "orders"}}')
    forget()
    with pytest.raises(InvalidSettings, match="DUEBELL_DELIVERIES: the delivery 'remind': to: 'orders'"):
        entry.handler(None, CONTEXT)
    forget()
    known = editor.worker()
    assert known
    assert known.error
    assert "DUEBELL_DELIVERIES" in known.error.message


def test_a_delivery_of_the_environment_is_declared_once_and_does_not_replace_an_action(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DUEBELL_DELIVERIES", json.dumps({"remind": {"to": QUEUE}}))
    loaded = entry.load("")
    loaded.add_declared_deliveries()  # as the first invocation after a snapshot does
    assert len(loaded.deliveries) == 1
    worker = Worker.from_env()
    worker.action("remind")(lambda: None)
    with pytest.raises(InvalidSettings, match="DUEBELL_DELIVERIES: there is an action 'remind' already"):
        worker.add_declared_deliveries()


def modules_after(program: str) -> set[str]:
    """The modules that a program of its own has loaded at its end."""
    path = [str(ROOT / part) for part in ("worker", "shared")]
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport sys; print(*sys.modules)"],
        env={"PYTHONPATH": ":".join(path), "AWS_REGION": "eu-central-1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


@pytest.mark.slow
def test_a_worker_without_deliveries_loads_nothing_for_them() -> None:
    start = "from duebell_worker import entry; worker = entry.load('')"
    of_deliveries = {"duebell_worker.deliveries.deliverer", "duebell_shared.deliveries.delivery"}
    loaded = modules_after(f"{start}; worker._deliverer()")
    assert "duebell_worker.run.run" in loaded
    assert not {one for one in loaded if one.startswith("duebell_worker.deliver")}
    assert not loaded & of_deliveries
    # One that has a queue loads what it needs for queues
    with_queue = f"{start}; worker.deliver('a', to={QUEUE!r})"
    loaded = modules_after(f"{with_queue}; worker._deliverer()")
    assert of_deliveries <= loaded
    assert "duebell_worker.deliveries.https" not in loaded
    assert "urllib3.poolmanager" in loaded  # the SDK's own
