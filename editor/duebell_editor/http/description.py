"""The API's description in OpenAPI: FastAPI's, with schemas of answers and problems, and curl examples."""

import json
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from fastapi import FastAPI

from duebell_editor.library.backfill import BackfillReport
from duebell_editor.library.change_many import ChangeFailure, ChangeReport, Selection
from duebell_editor.library.json_fields import plain_values, status_fields, task_fields
from duebell_editor.listing.failures import FailureGroup, Failures
from duebell_editor.listing.history import Ended, PastTimeline
from duebell_editor.listing.listing import Page
from duebell_editor.listing.queue_counts import PastCounts
from duebell_editor.listing.timeline import Bucket
from duebell_editor.simulation.playing import Start
from duebell_editor.simulation.simulate import ActionForecast, Forecast, Simulation, Slot
from duebell_editor.status.health import SchedulerStatus
from duebell_editor.status.why import WaitCause, Why
from duebell_shared.bell.run_notes import LastRun, LateRing
from duebell_shared.errors import (
    AddFailure,
    AddReport,
    AwsRefused,
    DuebellError,
    InvalidInput,
    NotArmed,
    QueueFull,
    TaskChanged,
    TaskConflict,
    TaskExists,
    TaskNotFound,
)
from duebell_shared.schedules.schedule import Schedule
from duebell_shared.tasks.events import Event, Lateness
from duebell_shared.tasks.fields import IfExists
from duebell_shared.tasks.packed_occurrences import Occurrence, Result
from duebell_shared.tasks.recurrence import Recurrence
from duebell_shared.tasks.task import Task
from duebell_shared.tasks.worker_record import ActionDescription, WorkerDescription

from .answers import (
    BulkAnswer,
    Json,
    KnownWorker,
    Preview,
    TaskHistory,
    Timeline,
    TimeZones,
    add_answer,
    backfill_answer,
    bulk_answer,
    page_answer,
    recurring_answer,
    reference,
    schemas,
    to_json,
)
from .headers import WARNINGS
from .problems import MEDIA_TYPE, ProblemDocument
from .requests import EXAMPLES, Limits

#: The address in the examples; the page puts its own there.
_SERVER = "http://127.0.0.1:8125"

_AUTHORIZATION = "Authorization: Bearer $DUEBELL_EDITOR_TOKEN"

#: Queries worth showing, by path.
_QUERIES = {
    "/api/tasks": "status=failed&limit=20",
    "/api/find": "prefix=sale-",
    "/api/timeline": "start=2026-12-31T00:00:00Z&step=hour&count=24",
    "/api/history": "start=2026-12-30T00:00:00Z&step=day&count=7",
}


def add_curl(document: dict[str, Any], *, with_token: bool) -> None:
    """Add an example to each operation, and one more where a list can be sent as well."""
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            operation["x-codeSamples"] = [
                {"lang": "Shell", "label": label, "source": _curl(method, path, body, with_token=with_token)}
                for label, body in _bodies(document, operation)
            ]


def _bodies(document: dict[str, Any], operation: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The name and the body of each example; no body is None."""
    if "requestBody" not in operation:
        yield "curl", None
        return
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    one = schema.get("oneOf", [schema])[0]
    examples = document["components"]["schemas"][one["$ref"].rpartition("/")[2]]["examples"]
    yield "curl", examples[0]
    if "oneOf" in schema:
        yield "curl, a list", examples[1:]


def _curl(method: str, path: str, body: Any, *, with_token: bool) -> str:
    query = _QUERIES.get(path) if method == "get" else None
    url = _SERVER + path.replace("{id}", "sale-42") + (f"?{query}" if query else "")
    parts = [f"curl {shlex.quote(url)}" if query else f"curl {url}"]
    if path.endswith("/changes"):
        parts[0] = f"curl --no-buffer {url}"
    if method not in ("get", "post") or (method == "post" and body is None):
        parts.append(f"-X {method.upper()}")
    if with_token:
        parts.append(f'-H "{_AUTHORIZATION}"')
    if body is not None:
        parts.append("-H 'Content-Type: application/json'")
        parts.append(f"-d {shlex.quote(json.dumps(body))}")
    return " \\\n  ".join(parts)


Responses = dict[int | str, dict[str, Any]]

#: The security scheme. It is optional where the server takes requests without a token.
_TOKEN = {
    "type": "http",
    "scheme": "bearer",
    "description": "The token that the server was started with; needed where other machines can reach it",
}

_TAGS = [
    {"name": "tasks", "description": "Add tasks, look at them, change them"},
    {"name": "scheduler", "description": "The scheduler's status, counts of future and past tasks"},
]

_TEXT = {"type": "string"}

#: The meaning of each status, and an example: an error, or the `detail` of one.
_PROBLEMS: dict[int, tuple[str, DuebellError | str]] = {
    400: (
        "The body is not JSON, or the visitor is named twice",
        "the body is not JSON as it is taken here: the name 'due' is twice in one object",
    ),
    401: ("The token is missing or wrong", "this server wants its token: Authorization: Bearer <token>"),
    403: (
        "Another site's request, or another server's; or a change, where the server is read-only",
        "this request comes from another site",
    ),
    404: ("There is no such task", TaskNotFound("sale-42")),
    408: ("The body did not come in time", "the body must come within 30 seconds"),
    409: (
        "The task's status does not allow it, or the id is taken",
        TaskConflict("cannot pause task 'sale-42': it is done, and this needs it scheduled"),
    ),
    412: (
        "The task was changed since it was seen (If-Match)",
        TaskChanged("sale-42", expected=7, rev=8),
    ),
    413: ("The body is too long", "the body must be 2 MB at most"),
    415: (
        "The body is not sent as JSON",
        "the body must be JSON, sent with Content-Type: application/json",
    ),
    422: ("Something given cannot be right", InvalidInput("action", "is missing")),
    500: (
        "A fault of duebell's own, or an item of the table that is no task",
        "Something went wrong inside duebell; the server's log has the details.",
    ),
    502: ("AWS refused", AwsRefused("DynamoDB, table 'duebell': AccessDenied")),
    503: (
        "AWS does not answer, nothing is deployed, the rule could not be confirmed, or too many requests are "
        "at work. Retry-After says when to ask again, where that may help",
        NotArmed("the task is stored, but the rule could not be confirmed"),
    ),
    507: ("The lane of the task holds as much as DynamoDB lets it hold", QueueFull("sale-42", 3)),
}

#: Statuses of problems with any request; those of bodies too, which can be sent with any.
_ALWAYS = (400, 401, 403, 408, 413, 415, 500, 503)

#: Statuses of problems with AWS.
AWS = (502, 503)

#: The status of a write that a full lane refuses.
FULL = 507

#: The headers of an answer about a task, and about one that was added.
_TAGGED = {"ETag": {"description": "The task's rev, for If-Match and If-None-Match", "schema": _TEXT}}
_WARNED = {
    WARNINGS: {"description": "A JSON list of what is doubtful about it, if anything is", "schema": _TEXT}
}
_PLACED = {**_TAGGED, **_WARNED, "Location": {"description": "Where the task is", "schema": _TEXT}}

#: Successes of routes about one task.
CHANGED: Responses = {200: {"description": "The task as it is now", "headers": {**_TAGGED, **_WARNED}}}
ADDED: Responses = {
    200: {
        "description": "It was there: kept as it is, or replaced. Of a list: the outcome of each task",
        "headers": _PLACED,
        "content": {Json.media_type: {"schema": {"anyOf": [reference("Task"), reference("AddAnswer")]}}},
    },
    201: {"description": "It is new", "headers": _PLACED},
}

#: The answer to clients that have the task already.
NOT_MODIFIED: Responses = {304: {"description": "You have it as it is (If-None-Match)", "headers": _TAGGED}}


def answers(name: str, *problems: int, successes: Responses | None = None) -> Responses:
    """The answers of a route: successes with the schema of this name, and problems with these statuses."""
    content = {Json.media_type: {"schema": reference(name)}}
    made = {status: {"content": content, **success} for status, success in (successes or {200: {}}).items()}
    return {**made, **problems_only(*problems)}


def problems_only(*statuses: int) -> Responses:
    """The answers with these problems, and with those of all routes."""
    return {status: _problem(status) for status in sorted({*_ALWAYS, *statuses})}


def _problem(status: int) -> dict[str, Any]:
    meaning, error = _PROBLEMS[status]
    if isinstance(error, str):
        example = ProblemDocument.of(status, error)
    else:
        example = ProblemDocument.of_error(error, "sale-42")
    content = {MEDIA_TYPE: {"schema": reference("ProblemDocument"), "example": msgspec.to_builtins(example)}}
    return {"description": meaning, "content": content}


def describe(app: FastAPI, *, with_token: bool) -> None:
    """Add the answers' schemas, examples, those with curl, and the token to `/openapi.json`."""
    app.openapi_tags = _TAGS
    made = app.openapi

    def openapi() -> dict[str, Any]:
        document = made()
        components = document["components"]
        components["schemas"] |= schemas(Limits)
        for name, examples in {**_REQUESTS, **_answers(), **EXAMPLES}.items():
            components["schemas"][name]["examples"] = json.loads(to_json(examples))
        components["securitySchemes"] = {"token": _TOKEN}
        document["security"] = [{"token": []}] if with_token else [{}, {"token": []}]
        add_curl(document, with_token=with_token)
        return document

    app.openapi = openapi  # type: ignore[method-assign]


#: Examples of bodies, by the names of their schemas.
_REQUESTS: dict[str, list[object]] = {
    "NewTask": [
        {
            "action": "put_on_sale",
            "due": "2026-12-31T00:00:00Z",
            "payload": {"item": 42},
            "id": "sale-42",
            "if_exists": "keep",
        },
        {"action": "remind", "in": 208_800, "payload": {"user": 7}},
        {"action": "report", "schedule": "cron(0 9 ? * MON-FRI *)", "timezone": "Europe/Berlin"},
    ],
    "TaskChange": [{"payload": {"item": 43}}, {"end": None, "max_runs": 10}],
    "Move": [{"due": "2026-12-31T00:00:00Z"}, {"in": 5400}],
    "Proposal": [{"in": 86_400, "limits": {"mail": {"at_most": 5}}, "flatten": True}],
    "SchedulePreview": [{"schedule": "0 9 * * MON-FRI", "timezone": "Europe/Berlin"}],
    "BackfillRange": [{"start": "2026-01-01T00:00:00Z", "end": "2026-01-31T23:59:59Z", "per_second": 2}],
    "BulkChange": [
        {"do": "pause", "where": {"action": "put_on_sale"}, "limit": 500, "dry_run": True},
        {"do": "retry", "ids": ["sale-42", "sale-43"]},
    ],
}


def _report() -> Task:
    """A task that recurs and had an occurrence."""
    due = datetime(2026, 12, 30, 8, tzinfo=UTC)
    schedule = Schedule(expression="cron(0 9 ? * MON-FRI *)", timezone="Europe/Berlin")
    started, finished = due + timedelta(seconds=21.482), due + timedelta(seconds=24.3)
    done = Occurrence(
        due=due, started_at=started, finished_at=finished, lateness_ms=21482, attempts=1, result=Result.DONE
    )
    return Task(
        id="daily-report",
        lane=1,
        action="report",
        due=due + timedelta(days=1),
        queued=due + timedelta(days=1),
        created_at=due - timedelta(days=1),
        recurrence=Recurrence(schedule=schedule, runs=1, next_due=due + timedelta(days=2)),
        occurrences=(done,),
    )


def _answers() -> dict[str, list[object]]:
    """Examples of answers, by the names of their schemas."""
    due, run = datetime(2026, 12, 31, tzinfo=UTC), datetime(2026, 12, 30, 0, 0, 21, 482_000, tzinfo=UTC)
    rung = datetime(2026, 12, 24, 18, 30, tzinfo=UTC)
    task = Task(
        id="sale-42",
        lane=3,
        action="put_on_sale",
        due=due,
        queued=due,
        payload_json='{"item": 42}',
        created_at=datetime(2026, 11, 21, 12, tzinfo=UTC),
        changed_by="anna@example.org",
    )
    status = SchedulerStatus(
        table="duebell",
        rule="duebell",
        expression="cron(0,4,12,27 0-23 30,31 12 ? 2026)",
        enabled=True,
        rings_at=due,
        next_due=due,
        armed=True,
        last_run=LastRun(
            run="5f0c3a2e9d7b4c61a8f0e2d4b6c8a0e1",
            finished_at=run,
            done=12,
            failed=1,
            lateness_max_ms=20914,
            tzdata="2026f",
        ),
        late_ring=LateRing(minute=rung, came_at=rung + timedelta(minutes=4, seconds=18.26)),
        lanes=4,
        queued=134,
        due_tonight=12,
        tonight_ends=due,
        failed=1,
        failing=0,
        tzdata="2026f",
    )
    end = due + timedelta(hours=1)
    ended = Ended(
        start=due, end=end, done=11, failed=1, skipped=0, lateness_median_ms=20914, lateness_max_ms=41300
    )
    preview = Preview(
        words="every weekday at 09:00, Europe/Berlin",
        occurrences=[datetime(2026, 11, day, 8, tzinfo=UTC) for day in (23, 24)],
    )
    taken = AddFailure(index=1, id="sale-43", error=TaskExists("sale-43"))
    one_of_two = AddReport(added=("sale-42",), failures=(taken,))
    worker = WorkerDescription(
        version="8f14e45fceea",
        duebell="0.1.0",
        python="3.13.2",
        tzdata="2026f",
        started_at=run,
        actions=(
            ActionDescription(
                name="put_on_sale",
                attempts=5,
                schema={
                    "title": "Sale",
                    "type": "object",
                    "properties": {"item": {"type": "integer"}},
                    "required": ["item"],
                },
            ),
            ActionDescription(name="report", attempts=5, recurring=("daily-report",)),
        ),
    )
    group = FailureGroup(
        action="charge",
        error="TimeoutError",
        message="the bank did not answer",
        failed=12,
        failing=("hourly-invoices",),
        first_at=rung,
        last_at=run,
    )
    late = Why(
        id="sale-42",
        cause=WaitCause.STARTED,
        what="its last attempt started at 2026-12-31T00:01:02.500Z, 32.5 s after it was due: 30.0 s until "
        "the full minute, 2.5 s until the worker had started",
        lateness=Lateness(rounding=30_000, start=2_500),
    )
    events = (
        Event(at=rung, what="add", by="anna@example.org"),
        Event(
            at=run,
            what="attempt",
            attempt=1,
            result="failed",
            ended_at=run + timedelta(seconds=3),
            run="5f0c3a2e9d7b4c61a8f0e2d4b6c8a0e1",
            lateness_ms=21482,
            lateness=Lateness(rounding=20_000, start=1_482),
            error="TimeoutError: the bank did not answer",
        ),
        Event(at=due, what="retry", by="anna@example.org"),
    )
    start = Start(
        at=due, id="sale-42", action="put_on_sale", due=due, lateness_ms=0, ends_at=end, recurs=False
    )
    forecast = Forecast(
        starts=1,
        waiting=0,
        expired=0,
        late=0,
        lateness_p50_ms=0,
        lateness_p90_ms=0,
        lateness_p99_ms=0,
        lateness_max_ms=0,
        at_once=1,
        peak=1,
        peak_at=due,
        rings=1,
        runs=1,
        dollars=0.000021,
        slots=(Slot(start=due, end=end, starts=1, at_once=1, runs=1, lateness_max_ms=0),),
        actions=(
            ActionForecast(
                action="put_on_sale", starts=1, late=0, lateness_max_ms=0, duration_ms=1_200, measured=40
            ),
        ),
        first=(start,),
    )
    missing = ChangeFailure(id="sale-43", error=TaskNotFound("sale-43"))
    both = Selection(ids=("sale-42", "sale-43"))
    return {
        "Task": [task_fields(task)],
        "AddAnswer": [add_answer(("sale-42", "sale-43"), one_of_two, IfExists.FAIL)],
        "TaskPage": [page_answer(Page(tasks=(task,)), brief=False)],
        "SchedulerStatus": [status_fields(status)],
        "Why": [plain_values(late)],
        "TaskHistory": [TaskHistory(events=events)],
        "Simulation": [Simulation(start=run, until=due, today=forecast)],
        "TimeZones": [TimeZones(tzdata="2026f", names=["Europe/Berlin", "UTC"])],
        "Preview": [preview],
        "KnownWorker": [KnownWorker(worker=worker), KnownWorker(worker=None)],
        "RecurringPage": [recurring_answer(Page(tasks=(_report(),)))],
        "Timeline": [Timeline(buckets=(Bucket(start=due, end=end, count=36, occurrences=24),))],
        "PastTimeline": [PastTimeline(buckets=(ended,), is_all=True)],
        "PastCounts": [PastCounts(paused=3, done=1_000, expired=0, cancelled=12)],
        "Failures": [Failures(groups=(group,), is_all=True)],
        "BackfillAnswer": [backfill_answer(BackfillReport(prefix="report@", dues=(rung,), dry_run=True))],
        "BulkAnswer": [
            BulkAnswer(found=2, is_all=True, dry_run=True, ids=both.ids),
            bulk_answer(both, ChangeReport(changed=(task,), failures=(missing,))),
        ],
    }
