"""Traces: an attempt is a span that is linked to the add, and deliveries pass it on."""

import json
import sys
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import boto3
import pytest

from duebell import Editor, Snooze, Task, Then, Worker
from duebell_shared.queue.items import item_of, task_of
from tests.deliveries.test_services import RUN, TASK_DEFINITION, ecs, make_queue, received  # noqa: F401
from tests.support import REGION, Clock

HOUR = timedelta(hours=1)

trace: Any = pytest.importorskip("opentelemetry.trace")
sdk: Any = pytest.importorskip("opentelemetry.sdk.trace")
exporting: Any = pytest.importorskip("opentelemetry.sdk.trace.export")
memory: Any = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The spans that have ended; `spans.get_finished_spans()`."""
    exporter = memory.InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(exporting.SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    yield exporter
    provider.shutdown()


def parent_of(span: Any) -> str:
    context = span.get_span_context()
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def add_in_a_span(editor: Editor, action: str, **fields: Any) -> str:
    """Add a task inside of a span; return its trace context."""
    with trace.get_tracer("shop").start_as_current_span("checkout") as span:
        editor.add(action, due=HOUR, **fields)
        return parent_of(span)


def attempts(spans: Any) -> list[Any]:
    return [one for one in spans.get_finished_spans() if one.name.startswith("process ")]


def test_an_attempt_is_a_span_linked_to_that_of_the_add(
    worker: Worker, editor: Editor, clock: Clock, spans: Any
) -> None:
    inside: list[str] = []

    @worker.action("mail", attempts=2)
    async def mail() -> None:
        inside.append(parent_of(trace.get_current_span()))
        if len(inside) == 1:
            raise ValueError("no such user")
        editor.add("other", due=HOUR, id="from the action")

    worker.action("bill")(lambda: None)
    added = add_in_a_span(editor, "mail", id="one", then=Then("bill"))
    assert editor.get("one").traceparent == added
    for _ in range(3):
        clock.advance(HOUR)
        worker.run()
    first, second, bill = attempts(spans)
    for number, span in enumerate((first, second), 1):
        [link] = span.links
        assert parent_of(trace.NonRecordingSpan(link.context)) == added
        assert parent_of(span) == inside[number - 1]
        assert (span.name, span.kind, span.parent) == ("process mail", trace.SpanKind.CONSUMER, None)
        assert span.attributes["messaging.message.id"] == "one"
        assert span.attributes["duebell.attempt"] == number
    assert first.status.status_code is trace.StatusCode.ERROR
    assert [event.attributes["exception.message"] for event in first.events] == ["no such user"]
    assert second.status.is_unset
    # A task that it adds belongs to the attempt's trace, and its follow-up to that of the add
    assert editor.get("from the action").traceparent == inside[1]
    assert editor.get("one/then").traceparent == added
    assert bill.links[0].context.span_id == int(added.split("-")[2], 16)


def test_a_snooze_is_no_error_of_its_span(worker: Worker, editor: Editor, clock: Clock, spans: Any) -> None:
    @worker.action("mail")
    def mail(task: Task) -> None:
        raise Snooze(HOUR)

    editor.add("mail", due=HOUR)
    clock.advance(HOUR)
    worker.run()
    [span] = attempts(spans)
    assert span.status.is_unset
    assert not span.events


def test_a_tracer_that_raises_fails_the_attempt_alone(
    worker: Worker, editor: Editor, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given an action, a delivery that goes alone and one that goes in batches
    def broken(name: str) -> Any:
        raise LookupError(name)

    worker.action("mail", attempts=1)(lambda: None)
    worker.deliver("tell", to="https://example.com/", attempts=1)
    worker.deliver("queue", to=f"arn:aws:sqs:{REGION}:123456789012:there", attempts=1)
    for action in ("mail", "tell", "queue"):
        editor.add(action, due=HOUR, id=action)
    clock.advance(HOUR)

    # When the application's tracer raises
    monkeypatch.setattr(trace, "get_tracer", broken)
    worker.run()

    # Then each attempt has failed, and says why
    failures = [editor.get(id).failure for id in ("mail", "tell", "queue")]
    assert [one and one.type for one in failures] == ["LookupError"] * 3


def test_without_a_valid_span_nothing_is_stored(worker: Worker, editor: Editor, clock: Clock) -> None:
    worker.action("mail")(lambda: None)
    task = editor.add("mail", due=HOUR, id="one")
    assert "traceparent" not in item_of(task)
    clock.advance(HOUR)
    assert worker.run().done == 1


def test_without_opentelemetry_nothing_is_stored_or_imported(
    editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "opentelemetry.trace")
    with trace.use_span(trace.NonRecordingSpan(trace.SpanContext(1, 2, is_remote=False))):
        assert editor.add("mail", due=HOUR).traceparent is None
    assert "opentelemetry.trace" not in sys.modules


@pytest.mark.parametrize("text", ["00-x\r\nCookie: y", f"00-{'0' * 32}-{'0' * 16}-01"])
def test_an_edit_by_hand_stops_no_task_and_is_not_passed_on(editor: Editor, text: str) -> None:
    item = item_of(editor.add("mail", due=HOUR))
    assert task_of({**item, "traceparent": {"S": text}}).traceparent is None


def test_deliveries_pass_the_attempts_trace_on(
    worker: Worker,
    editor: Editor,
    clock: Clock,
    spans: Any,
    endpoint: Any,
) -> None:
    sqs, url, arn = make_queue()
    worker.deliver("queue", to=arn, form="envelope")
    worker.deliver("post", to=endpoint.url)
    for action in ("queue", "queue", "post"):
        add_in_a_span(editor, action)
    clock.advance(HOUR)
    assert worker.run().done == 3
    sent: dict[str, list[str]] = {span.name: [] for span in attempts(spans)}
    for span in attempts(spans):
        assert len(span.links) == 1
        sent[span.name].append(parent_of(span))
    messages = received(sqs, url)
    told = [one["MessageAttributes"]["traceparent"]["StringValue"] for one in messages]
    assert sorted(told) == sorted(sent["process queue"])
    assert all(one in message["Body"] for one, message in zip(told, messages, strict=True))
    [(_, headers, _)] = endpoint.posted
    assert headers["Traceparent"] == sent["process post"][0]


def test_a_run_of_ecs_gets_the_trace_of_the_add(
    worker: Worker,
    clock: Clock,
    spans: Any,
    ecs: list[dict[str, Any]],  # noqa: F811
) -> None:
    # Given a delivery; a repeated call of RunTask must be the same, so it cannot name the attempt
    worker.deliver("report", to=TASK_DEFINITION, run=RUN)
    added = add_in_a_span(worker.editor, "report")
    worker.editor.add("report", due=HOUR, id="without")
    # When they are sent
    clock.advance(HOUR)
    worker.run()
    # Then
    environments = [one["overrides"]["containerOverrides"][0]["environment"] for one in ecs]
    told = [{one["name"]: one["value"] for one in environment} for environment in environments]
    assert sorted(str(one.get("TRACEPARENT")) for one in told) == sorted([added, "None"])


@pytest.mark.usefixtures("spans")
def test_a_worker_without_opentelemetry_passes_the_trace_of_the_add_on(
    worker: Worker, clock: Clock, session: boto3.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    put: list[Any] = []
    emitter: Any = session.events
    emitter.register("before-parameter-build.events.PutEvents", lambda params, **_: put.append(params))
    bus = boto3.client("events", region_name=REGION).create_event_bus(Name="shop")["EventBusArn"]
    worker.deliver("tell", to=bus)
    added = add_in_a_span(worker.editor, "tell")
    monkeypatch.delitem(sys.modules, "opentelemetry.trace")
    clock.advance(HOUR)
    assert worker.run().done == 1
    [entry] = put[0]["Entries"]
    assert json.loads(entry["Detail"])["traceparent"] == added
