"""Traces by OpenTelemetry, if the application has imported it. duebell itself never imports it.

A task keeps the W3C trace context of its add. An attempt is a span that is linked to the add, which may be
weeks old. https://www.w3.org/TR/trace-context/ https://opentelemetry.io/docs/specs/semconv/messaging/
"""

import sys
from contextlib import AbstractContextManager
from typing import Any

from duebell_shared.tasks.task import Task


def current_traceparent() -> str | None:
    """The trace context of the current span; None without OpenTelemetry, or without a valid span."""
    trace = sys.modules.get("opentelemetry.trace")
    return _traceparent_of(trace.get_current_span()) if trace else None


class AttemptSpan:
    """The span of one attempt. Made only where `opentelemetry.trace` is imported."""

    def __init__(self, task: Task) -> None:
        self._trace: Any = sys.modules["opentelemetry.trace"]
        self._span: Any = self._trace.get_tracer("duebell").start_span(
            f"process {task.action}",
            kind=self._trace.SpanKind.CONSUMER,
            links=self._links(task.traceparent),
            attributes={
                "messaging.system": "duebell",
                "messaging.operation.type": "process",
                "messaging.destination.name": task.action,
                "messaging.message.id": task.id,
                "duebell.attempt": task.attempt,
            },
        )

    @property
    def traceparent(self) -> str | None:
        return _traceparent_of(self._span)

    def current(self) -> AbstractContextManager[Any]:
        """Make it the current span."""
        span: AbstractContextManager[Any] = self._trace.use_span(
            self._span, record_exception=False, set_status_on_exception=False
        )
        return span

    def end(self, error: BaseException | None) -> None:
        """End the span, with the error of the attempt if it failed."""
        if error is not None:
            self._span.record_exception(error)
            self._span.set_status(self._trace.Status(self._trace.StatusCode.ERROR, type(error).__name__))
        self._span.end()

    def _links(self, traceparent: str | None) -> list[Any]:
        if traceparent is None:
            return []
        _, trace, span, flags = (int(part, 16) for part in traceparent.split("-"))
        context = self._trace.SpanContext(
            trace, span, is_remote=True, trace_flags=self._trace.TraceFlags(flags)
        )
        return [self._trace.Link(context)]


def _traceparent_of(span: Any) -> str | None:
    context = span.get_span_context()
    if not context.is_valid:
        return None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
