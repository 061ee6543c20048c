"""The commands, each one a method of the library."""

import os
import sys
from collections.abc import Callable
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from duebell_editor import Editor, IfExists, Missed, make_schedule
from duebell_shared.errors import DuebellError
from duebell_shared.instants import utc_now
from duebell_shared.task import Status, Task

from .given import due_from, due_unless, duration_from, instant_from, payload_from, zone_from
from .many import progress_bar, show_report, tasks_from
from .output import (
    print_json,
    show_change,
    show_diagnosis,
    show_preview,
    show_status,
    show_task,
    show_tasks,
    status_json,
    task_json,
)
from .running import say_more
from .watching import watch as watch_scheduler

__all__ = ["app"]

app = typer.Typer(
    name="duebell",
    help="Run things later on AWS: look at the queue of tasks and change it.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Id = Annotated[str, typer.Argument(metavar="ID", help="The task's id.")]
Due = Annotated[
    str | None, typer.Option("--due", metavar="TIME", help="When: ISO-8601, such as 2026-12-31T09:00+01:00.")
]
In = Annotated[
    str | None, typer.Option("--in", metavar="DURATION", help="How long from now, such as 90s, 1h30m, 2d10h.")
]
Timezone = Annotated[
    str | None,
    typer.Option(
        "--timezone", metavar="ZONE", help="Zone of times without an offset, such as Europe/Berlin."
    ),
]
Start = Annotated[str | None, typer.Option("--start", metavar="TIME", help="No occurrence is before this.")]
End = Annotated[str | None, typer.Option("--end", metavar="TIME", help="No occurrence is after this.")]
ScheduleOption = Annotated[
    str | None,
    typer.Option(
        "--schedule", metavar="EXPRESSION", help="Recurring: rate(…), cron(…), five cron fields, or at(…)."
    ),
]
MissedOption = Annotated[
    Missed | None, typer.Option("--missed", help="What becomes of occurrences that were missed. [once]")
]
MaxRuns = Annotated[int | None, typer.Option("--max-runs", metavar="N", help="End after so many.")]
Payload = Annotated[
    str | None, typer.Option("--payload", metavar="JSON", help="The payload; - reads it from stdin.")
]
PayloadFile = Annotated[
    str | None,
    typer.Option("--payload-file", metavar="FILE", help="The payload, in a file of JSON; - is stdin."),
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON for programs.")]


@app.callback()
def options(
    *,
    profile: Annotated[
        str | None, typer.Option(metavar="NAME", help="The AWS profile, instead of AWS_PROFILE.")
    ] = None,
    region: Annotated[
        str | None, typer.Option(metavar="REGION", help="The AWS region, instead of AWS_REGION.")
    ] = None,
    endpoint_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Where AWS is, instead of AWS_ENDPOINT_URL.")
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say more about errors.")] = False,
) -> None:
    """Run things later on AWS: look at the queue of tasks and change it."""
    given = {
        "AWS_PROFILE": profile,
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        "AWS_ENDPOINT_URL": endpoint_url,
    }
    # The environment is this program's own, and what every part of it is set up by.
    os.environ.update({name: value for name, value in given.items() if value is not None})
    if verbose:
        say_more()


def _editor() -> Editor:
    """The editor that every command uses; tests put their own here."""
    return Editor.from_env()


@app.command()
def add(
    action: Annotated[
        str | None, typer.Argument(metavar="ACTION", help="Name of an action of the worker.")
    ] = None,
    *,
    due: Due = None,
    in_: In = None,
    timezone: Timezone = None,
    schedule: ScheduleOption = None,
    start: Start = None,
    end: End = None,
    missed: MissedOption = None,
    max_runs: MaxRuns = None,
    spread: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Run it up to so long after it is due.")
    ] = None,
    expires_after: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Do not run it when it is that late.")
    ] = None,
    payload: Payload = None,
    payload_file: PayloadFile = None,
    id: Annotated[str | None, typer.Option("--id", metavar="ID", help="Generated if not given.")] = None,
    if_exists: Annotated[IfExists, typer.Option(help="What to do when the id is taken.")] = IfExists.FAIL,
    from_: Annotated[
        str | None,
        typer.Option("--from", metavar="FILE", help="Add many: a JSON object to a line; - is stdin."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Add a task: run ACTION with a payload at a time, or by a schedule. Or add many, from a file.

    The exit status is 1 if one could not be added.
    """
    if from_ is not None:
        _add_many(from_, zone_from(timezone), if_exists, is_alone=action is None and due is in_ is schedule)
        return
    if action is None:
        raise typer.BadParameter("give the ACTION to run, or --from FILE")
    at = due_unless(schedule, due, in_, timezone)
    zone = zone_from(timezone)
    task = _editor().add(
        action,
        due=at,
        schedule=schedule,
        timezone=None if schedule is None else timezone,
        start=None if start is None else instant_from("--start", start, zone),
        end=None if end is None else instant_from("--end", end, zone),
        missed=missed,
        max_runs=max_runs,
        spread=duration_from("--spread", spread),
        expires_after=duration_from("--expires-after", expires_after),
        payload=payload_from(payload, payload_file),
        id=id,
        if_exists=if_exists,
    )
    _print_change(task, as_json=as_json)


def _add_many(file: str, zone: ZoneInfo | None, if_exists: IfExists, *, is_alone: bool) -> None:
    if not is_alone:
        raise typer.BadParameter(
            "--from goes without ACTION, --due, --in and --schedule: they stand in the file"
        )
    tasks = tasks_from(file, zone)
    with progress_bar(len(tasks)) as progress:
        report = _editor().add_many(tasks, if_exists=if_exists, progress=progress)
    show_report(report)
    if report.failures:
        raise typer.Exit(1)


@app.command("list")
def list_tasks(
    *,
    status: Annotated[
        list[Status] | None,
        typer.Option(help="Of this status; several may be given. [scheduled and running]"),
    ] = None,
    action: Annotated[str | None, typer.Option(metavar="ACTION", help="Of this action.")] = None,
    after: Annotated[str | None, typer.Option(metavar="TIME", help="Not earlier than this.")] = None,
    before: Annotated[str | None, typer.Option(metavar="TIME", help="Not later than this.")] = None,
    timezone: Timezone = None,
    limit: Annotated[int, typer.Option(help="At most this many, 1 to 1000.")] = 100,
    cursor: Annotated[
        str | None, typer.Option(metavar="CURSOR", help="The last listing's, to go on.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for programs, one task to a line.")] = False,
) -> None:
    """List tasks in due order.

    What is in the queue, scheduled and running; paused and finished tasks when their status is asked for.
    """
    zone = zone_from(timezone)
    start = None if after is None else instant_from("--after", after, zone)
    end = None if before is None else instant_from("--before", before, zone)
    page = _editor().list(
        status=status or None, action=action, after=start, before=end, limit=limit, cursor=cursor
    )
    if as_json:
        for task in page.tasks:
            print_json(task_json(task))
    else:
        show_tasks(page.tasks, utc_now())
    if page.cursor:
        print(f"there is more: repeat with --cursor {page.cursor}", file=sys.stderr)


@app.command()
def show(id: Id, *, as_json: AsJson = False) -> None:
    """Show all there is to know of a task."""
    task = _editor().get(id)
    if as_json:
        print_json(task_json(task))
    else:
        show_task(task, utc_now())


@app.command()
def move(
    id: Id, *, due: Due = None, in_: In = None, timezone: Timezone = None, as_json: AsJson = False
) -> None:
    """Give a task another due date."""
    at = due_from(due, in_, timezone)
    _print_change(_editor().move(id, due=at), as_json=as_json)


@app.command()
def update(
    id: Id,
    *,
    action: Annotated[str | None, typer.Option(metavar="ACTION", help="Another action.")] = None,
    payload: Payload = None,
    payload_file: PayloadFile = None,
    schedule: ScheduleOption = None,
    timezone: Timezone = None,
    start: Start = None,
    end: End = None,
    missed: MissedOption = None,
    max_runs: MaxRuns = None,
    as_json: AsJson = False,
) -> None:
    """Change a task that is scheduled or paused; what is not given stays as it is.

    Another schedule comes with its own time zone, start and end. `move` gives another due date.
    """
    zone = zone_from(timezone)
    changed = _editor().update(
        id,
        action=action,
        payload=payload_from(payload, payload_file),
        schedule=schedule,
        timezone=timezone,
        start=None if start is None else instant_from("--start", start, zone),
        end=None if end is None else instant_from("--end", end, zone),
        missed=missed,
        max_runs=max_runs,
    )
    _print_change(changed, as_json=as_json)


@app.command()
def cancel(id: Id, *, as_json: AsJson = False) -> None:
    """Never run a task; it is kept as history."""
    _print_change(_editor().cancel(id), as_json=as_json)


@app.command()
def pause(id: Id, *, as_json: AsJson = False) -> None:
    """Take a scheduled task out of the queue until it is resumed."""
    _print_change(_editor().pause(id), as_json=as_json)


@app.command()
def resume(id: Id, *, as_json: AsJson = False) -> None:
    """Put a paused task back in the queue."""
    _print_change(_editor().resume(id), as_json=as_json)


@app.command()
def retry(id: Id, *, as_json: AsJson = False) -> None:
    """Run a failed task again, now."""
    _print_change(_editor().retry(id), as_json=as_json)


@app.command("run-now")
def run_now(id: Id, *, as_json: AsJson = False) -> None:
    """Run a recurring task once more, now; or a task that runs once, now instead of when it is due."""
    _print_change(_editor().run_now(id), as_json=as_json)


@app.command()
def preview(
    schedule: Annotated[str, typer.Argument(metavar="EXPRESSION", help="As given to add --schedule.")],
    *,
    timezone: Timezone = None,
    start: Start = None,
    end: End = None,
    count: Annotated[int, typer.Option(min=1, max=1000, help="How many times to list.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Say what a schedule means, in words, and the times that come next. Nothing is stored."""
    zone, now = zone_from(timezone), utc_now()
    meant = make_schedule(
        schedule,
        timezone=timezone,
        start=None if start is None else instant_from("--start", start, zone),
        end=None if end is None else instant_from("--end", end, zone),
        now=now,
    )
    occurrences = meant.preview(count, now)
    if as_json:
        print_json({"words": meant.describe(), "occurrences": occurrences})
    else:
        show_preview(meant, occurrences, now)


@app.command()
def status(*, as_json: AsJson = False) -> None:
    """Say how the scheduler stands.

    The exit status is 1 if something is wrong.
    """
    found = _editor().status()
    if as_json:
        print_json(status_json(found))
    else:
        show_status(found, utc_now())
    if not found.healthy:
        raise typer.Exit(1)


@app.command()
def watch(
    every: Annotated[float, typer.Option(min=0.5, metavar="SECONDS", help="How often to look.")] = 2.0,
) -> None:
    """Show how the scheduler stands and what comes next, kept up to date, until Ctrl-C."""
    watch_scheduler(_editor(), every=every, clock=utc_now)


@app.command()
def doctor(
    *,
    fix: Annotated[bool, typer.Option("--fix", help="Mend what can be mended.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say what is wrong with the scheduler, and mend it.

    Looks for failed tasks too, in all of history. The exit status is 1 if something is wrong (still).
    """
    chosen = _editor()
    if fix:
        chosen.ensure_armed()
    found = chosen.status(thorough=True)
    if as_json:
        print_json(status_json(found))
    else:
        show_diagnosis(found)
    if not found.healthy:
        raise typer.Exit(1)


@app.command()
def editor(
    port: Annotated[int, typer.Option(help="Port of 127.0.0.1 to serve on; 0 is any.")] = 8125,
) -> None:
    """Serve the HTTP editor and its page on this machine, until Ctrl-C."""
    serve = _http_serve()
    serve(
        _editor(), port=port, started=lambda url: print(f"duebell is at {url} (Ctrl-C ends it)", flush=True)
    )


def _http_serve() -> Callable[..., None]:
    try:
        from duebell_editor.http import serve  # noqa: PLC0415 - an extra, and slow to import
    except ModuleNotFoundError as error:
        if error.name not in {"fastapi", "starlette", "pydantic", "uvicorn"}:
            raise
        raise DuebellError(
            f"the HTTP editor needs {error.name}, which is not installed: pip install 'duebell[http]'"
        ) from error
    return serve


def _print_change(task: Task, *, as_json: bool) -> None:
    if as_json:
        print_json(task_json(task))
    else:
        show_change(task, utc_now())
