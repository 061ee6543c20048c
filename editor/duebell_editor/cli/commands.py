"""The commands, each one a method of the library."""

import os
import sys
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from duebell_editor import IfExists, make_schedule
from duebell_shared.task import Status

from . import at
from .given import due_unless, duration_from, instant_from, payload_from, zone_from
from .many import lines_named, progress_bar, show_report, tasks_from
from .options import (
    AsJson,
    Due,
    End,
    ExpiresAfter,
    Id,
    In,
    MaxRuns,
    MissedOption,
    Payload,
    PayloadFile,
    ScheduleOption,
    Spread,
    Start,
    Timezone,
)
from .output import (
    print_change,
    print_json,
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
    spread: Spread = None,
    expires_after: ExpiresAfter = None,
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
    when = due_unless(schedule, due, in_, timezone)
    zone = zone_from(timezone)
    task = at.editor().add(
        action,
        due=when,
        schedule=schedule,
        timezone=None if schedule is None else timezone,
        start=instant_from("--start", start, zone),
        end=instant_from("--end", end, zone),
        missed=missed,
        max_runs=max_runs,
        spread=duration_from("--spread", spread),
        expires_after=duration_from("--expires-after", expires_after),
        payload=payload_from(payload, payload_file),
        id=id,
        if_exists=if_exists,
    )
    print_change(task, at.now(), as_json=as_json)


def _add_many(file: str, zone: ZoneInfo | None, if_exists: IfExists, *, is_alone: bool) -> None:
    if not is_alone:
        raise typer.BadParameter(
            "--from goes without ACTION, --due, --in and --schedule: they stand in the file"
        )
    tasks = tasks_from(file, zone)
    with progress_bar(len(tasks)) as progress, lines_named(tasks):
        report = at.editor().add_many(list(tasks.values()), if_exists=if_exists, progress=progress)
    show_report(report, tasks)
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
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="Whose ids start with this.")] = "",
    after: Annotated[str | None, typer.Option(metavar="TIME", help="Not earlier than this.")] = None,
    before: Annotated[str | None, typer.Option(metavar="TIME", help="Not later than this.")] = None,
    timezone: Timezone = None,
    latest_first: Annotated[
        bool,
        typer.Option("--latest-first", help="What ended last comes first; not with the queue."),
    ] = False,
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
    start = instant_from("--after", after, zone)
    end = instant_from("--before", before, zone)
    page = at.editor().list(
        status=status or None,
        action=action,
        prefix=prefix,
        after=start,
        before=end,
        latest_first=latest_first,
        limit=limit,
        cursor=cursor,
    )
    if as_json:
        for task in page.tasks:
            print_json(task_json(task))
    else:
        show_tasks(page.tasks, at.now())
    if page.cursor:
        print(f"there is more: repeat with --cursor {page.cursor}", file=sys.stderr)


@app.command()
def show(id: Id, *, as_json: AsJson = False) -> None:
    """Show all there is to know of a task."""
    task = at.editor().get(id)
    if as_json:
        print_json(task_json(task))
    else:
        show_task(task, at.now())


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
    zone, now = zone_from(timezone), at.now()
    meant = make_schedule(
        schedule,
        timezone=timezone,
        start=instant_from("--start", start, zone),
        end=instant_from("--end", end, zone),
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
    found = at.editor().status()
    if as_json:
        print_json(status_json(found))
    else:
        show_status(found, at.now())
    if not found.healthy:
        raise typer.Exit(1)


@app.command()
def watch(
    every: Annotated[float, typer.Option(min=0.5, metavar="SECONDS", help="How often to look.")] = 2.0,
) -> None:
    """Show how the scheduler stands and what comes next, kept up to date, until Ctrl-C."""
    watch_scheduler(at.editor(), every=every, clock=at.now)


@app.command()
def doctor(
    *,
    fix: Annotated[bool, typer.Option("--fix", help="Mend what can be mended.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say what is wrong with the scheduler, and mend it.

    Looks for failed tasks too, in all of history. The exit status is 1 if something is wrong (still).
    """
    chosen = at.editor()
    if fix:
        chosen.ensure_armed()
    found = chosen.status(thorough=True)
    if as_json:
        print_json(status_json(found))
    else:
        show_diagnosis(found)
    if not found.healthy:
        raise typer.Exit(1)
